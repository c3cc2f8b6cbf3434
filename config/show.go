package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// show writes a value as it would stand in a file.
func show(k Key, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Switch:
		return strconv.FormatBool(v == On)
	case []string:
		if k.Type == Bundles {
			v = slices.Clone(v)
			for i := range v {
				v[i] = withoutQuery(v[i])
			}
		}
		return "[" + strings.Join(v, ", ") + "]"
	case []any:
		return showObjects(k, v)
	case time.Duration:
		return shortDuration(v)
	case int64:
		return showNumber(k.Type, v)
	default:
		return fmt.Sprint(v)
	}
}

func showNumber(t Type, i int64) string {
	switch t {
	case Duration:
		return shortDuration(time.Duration(i))
	case Bytes:
		for _, u := range byteUnits {
			if u.size > 1 && i >= u.size && i%u.size == 0 {
				return strconv.FormatInt(i/u.size, 10) + u.name
			}
		}
	}
	return strconv.FormatInt(i, 10)
}

// shortDuration drops the zeros of 10m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

func showObjects(k Key, list []any) string {
	parts := make([]string, len(list))
	for i, e := range list {
		m, _ := e.(map[string]any)
		var fields []string
		for _, f := range k.Fields {
			if v, ok := m[f.Name]; ok {
				fields = append(fields, f.Name+": "+show(f, v))
			}
		}
		parts[i] = "{" + strings.Join(fields, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
