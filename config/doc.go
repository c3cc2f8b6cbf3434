// Package config reads regogate's configuration: a YAML or JSON file, overlaid with
// the flags of a command.
//
// What [Load] returns is complete and meaningful, or it is an [Error] that names every
// mistake with file, line and key: an unknown key, a key given twice, a value of the
// wrong type, a limit that limits nothing. The zero [Config] means the defaults, and
// every default is the safe one. [Keys] is the table of all keys; docs/configuration.md
// is made of it.
//
// The names of tools, servers, methods and packages are always values in lists and
// never keys, because viper, which lays the sources over each other, folds keys to
// lower case and splits them at dots.
//
// # Limits
//
// Environment variables are not read, on purpose: none can switch enforcement off. (Two
// keys have the names of variables, for commands to read.)
// There is no default file; without one the defaults apply. YAML anchors, aliases,
// merge keys and several documents in one file are refused. Whether a bundle exists,
// or a glob compiles, is for those who use them to find out: [Config.Where] tells them
// where the value came from.
package config
