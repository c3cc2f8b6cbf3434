# Which environment a call is for, when its arguments say so.
package starter.lib

import rego.v2

# environment_named says that an argument like environment, stage or dsn_env names one
# of a list of environments.
environment_named(list) if {
	some name in environment_names
	some [_, o] in objects
	value := o[name]
	is_string(value)
	count({w | some w in words(value)} & {lower(x) | some x in list}) > 0
}

environment_names := {name | regex.match(`env|stage|tier|dsn`, name_text); some name, _ in kinds; regex.match(`(?i)^(.*[_-])?(env|environment|stage|tier|dsn|deployment_env)(_?name)?$|[a-z](Env|Environment|Stage)(Name)?$`, name)}
