package tests.starter.repos

import data.starter.repos
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := repos.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_repos_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"create_or_update_file: other owner": {"tool": "create_or_update_file", "arguments": {"owner": "other", "repo": "app", "path": "a.md", "content": "x", "message": "m", "branch": "f"}, "rules": {"repos.outside"}},
	"add_issue_comment: other repository": {"tool": "add_issue_comment", "arguments": {"owner": "example-org", "repo": "public", "issue_number": 1, "body": "x"}, "rules": {"repos.outside"}},
	"create_merge_request: as one string": {"tool": "create_merge_request", "arguments": {"project_id": "other/app", "source_branch": "a", "target_branch": "b", "title": "t"}, "rules": {"repos.outside"}},
	"push_files: protected branch": {"tool": "push_files", "arguments": {"owner": "example-org", "repo": "app", "branch": "main", "files": [], "message": "m"}, "rules": set()},
	"create_or_update_file: protected branch, full name": {"tool": "create_or_update_file", "arguments": {"owner": "example-org", "repo": "app", "branch": "refs/heads/main", "path": "a", "content": "x", "message": "m"}, "rules": set()},
	"delete_branch: protected branch deleted": {"tool": "delete_branch", "arguments": {"owner": "example-org", "repo": "app", "branch": "main"}, "rules": set()},
	"update_repository: made public": {"tool": "update_repository", "arguments": {"owner": "example-org", "repo": "app", "private": false}, "rules": {"repos.public"}},
	"create_issue: other case": {"tool": "create_issue", "arguments": {"owner": "EXAMPLE-ORG", "repo": "App", "title": "x"}, "rules": set()},
	"list_issues: a read": {"tool": "list_issues", "arguments": {"owner": "someone-else", "repo": "x"}, "rules": set()},
	"create_issue: pattern": {"tool": "create_issue", "arguments": {"owner": "example-org", "repo": "docs-site", "title": "x"}, "rules": set()},
	"create_issue: URL of a repository": {"tool": "create_issue", "arguments": {"repository_url": "https://github.com/other/app.git", "title": "x"}, "rules": {"repos.outside"}},
	"update_project: visibility": {"tool": "update_project", "arguments": {"project_id": "example-org/app", "visibility": "public"}, "rules": {"repos.public"}},
	"edit_repo: made public, flag": {"tool": "edit_repo", "arguments": {"owner": "example-org", "repo": "app", "public": true}, "rules": {"repos.public"}},
	"get_file_contents: read": {"tool": "get_file_contents", "arguments": {"owner": "other", "repo": "x", "path": "a"}, "rules": set()},
	"create_comment: nested repository": {"tool": "create_comment", "arguments": {"repository": {"owner": "other", "name": "app"}, "body": "x"}, "rules": {"repos.outside"}},
}
