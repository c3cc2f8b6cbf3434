package starter.settings

import rego.v2

problems contains "x" if false
