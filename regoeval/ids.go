package regoeval

// The ids of findings. They are part of the API: docs/contract.md explains each.
const (
	idParse        = "parse"             // a file isn't Rego, JSON or YAML
	idCompile      = "compile"           // OPA's compiler refuses the modules
	idBuiltin      = "builtin"           // a built-in that bundles don't have
	idManifest     = "manifest"          // .manifest says something that has no meaning
	idRegoVersion  = "rego-version"      // Rego v0
	idWasm         = "wasm"              // compiled code instead of Rego
	idRoots        = "roots"             // two bundles claim the same part of data
	idToolsPackage = "tools-package"     // a package below data.tools that is no tool's
	idPackage      = "package-missing"   // a package that is mapped or common does not exist
	idNoRules      = "no-rules"          // a bundle that decides nothing
	idDenyMissing  = "deny-missing"      // a package without a deny set
	idDenyKind     = "deny-kind"         // deny is not a partial set
	idDenyBelow    = "deny-below"        // rules below deny
	idDenyElement  = "deny-element"      // elements that can't be messages
	idDataDeny     = "data-deny"         // data supplies what a rule should
	idDenyName     = "deny-name"         // a rule that looks like deny and is never asked
	idDataMissing  = "data-missing"      // a rule reads data that isn't there
	idDataType     = "data-type"         // data of a type that makes a rule silent
	idInput        = "input-path"        // a rule reads what no input document has
	idAlwaysTrue   = "always-true"       // asking for what is always there
	idNot          = "not-semantics"     // not over something that can be undefined
	idMessage      = "message-undefined" // a message that can be undefined while its rule holds
	idOperand      = "operand-from-call" // a pattern, or a text put in many times, that the call brings along
	idAnnotation   = "schema-annotation" // the author declares schemas
	idSettings     = "settings"          // settings of the wrong type, or unknown
	idPins         = "pins"              // data.pinned that can't be read
	idLogMask      = "log-mask"          // data.system.log.mask that would lose every record
	idEngine       = "engine"            // OPA failed in a way that it should not
)
