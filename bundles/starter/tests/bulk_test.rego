package tests.starter.bulk

import data.starter.bulk
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := bulk.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_bulk_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"delete_emails: nothing said": {"tool": "delete_emails", "arguments": {}, "rules": {"bulk.filter"}},
	"delete_messages: no filter": {"tool": "delete_messages", "arguments": {"confirm": true}, "rules": {"bulk.filter"}},
	"delete_records: no filter": {"tool": "delete_records", "arguments": {"table": "users"}, "rules": {"bulk.filter"}},
	"delete_files: wildcard": {"tool": "delete_files", "arguments": {"pattern": "*"}, "rules": {"bulk.filter", "bulk.wildcard"}},
	"purge_queue_messages: all": {"tool": "purge_queue_messages", "arguments": {"all": true}, "rules": {"bulk.filter", "bulk.wildcard"}},
	"delete_emails: too many": {"tool": "delete_emails", "arguments": {"ids": ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29"]}, "rules": {"bulk.items"}},
	"delete_emails: too many (2)": {"tool": "delete_emails", "arguments": {"subject": "x", "max_deletes": 1000}, "rules": {"bulk.items"}},
	"send_messages: too many": {"tool": "send_messages", "arguments": {"recipients": ["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11", "u12", "u13", "u14", "u15", "u16", "u17", "u18", "u19", "u20", "u21", "u22", "u23", "u24", "u25", "u26", "u27", "u28", "u29", "u30", "u31", "u32", "u33", "u34", "u35", "u36", "u37", "u38", "u39"], "text": "x"}, "rules": {"bulk.items"}},
	"delete_emails: named": {"tool": "delete_emails", "arguments": {"ids": ["1", "2"]}, "rules": set()},
	"delete_emails: dry run": {"tool": "delete_emails", "arguments": {"dry_run": true}, "rules": set()},
	"delete_message: one": {"tool": "delete_message", "arguments": {"message_id": "1"}, "rules": set()},
	"delete_records: a filter": {"tool": "delete_records", "arguments": {"table": "users", "where": {"id": 5}}, "rules": set()},
	"clear_form: not many": {"tool": "clear_form", "arguments": {}, "rules": set()},
	"delete_items: list in a string": {"tool": "delete_items", "arguments": {"ids": "1,2,3,4,5,6,7"}, "rules": {"bulk.items"}},
	"label_things: ids in another tool": {"tool": "label_things", "arguments": {"thing_ids": [1, 2, 3, 4, 5, 6]}, "rules": {"bulk.items"}},
	"delete_documents: query that matches all, in a string": {"tool": "delete_documents", "arguments": {"query": "{}"}, "rules": {"bulk.filter"}},
	"delete_documents: operator that matches all": {"tool": "delete_documents", "arguments": {"filter": {"_id": {"$exists": true}}}, "rules": {"bulk.filter"}},
	"purge_cache: everything": {"tool": "purge_cache", "arguments": {"everything": true}, "rules": {"bulk.wildcard"}},
	"delete_object: wildcard in one": {"tool": "delete_object", "arguments": {"key": "*"}, "rules": {"bulk.wildcard"}},
	"delete_items: limit of a delete": {"tool": "delete_items", "arguments": {"filter": "a", "limit": 50}, "rules": {"bulk.items"}},
}

test_bulk_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"delete_volume: store": {"tool": "delete_volume", "arguments": {"volume_id": "v"}, "rules": {"bulk.store"}},
	"delete_s3_bucket: bucket": {"tool": "delete_s3_bucket", "arguments": {"bucket": "b"}, "rules": {"bulk.store"}},
	"delete_planner_bucket: a bucket of another kind": {"tool": "delete_planner_bucket", "arguments": {"bucket_id": "b"}, "rules": set()},
	"drop_database: store of a test environment": {"tool": "drop_database", "arguments": {"environment": "test", "name": "x"}, "rules": set()},
	"bulk_archive_emails: filter that matches everything": {"tool": "bulk_archive_emails", "arguments": {"filter": "*"}, "rules": {"bulk.filter"}},
}
