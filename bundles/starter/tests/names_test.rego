# What names say.
package tests.starter.names

import data.starter.lib
import rego.v2

test_kind[name] if {
	some name, kind in {
		"path": "path", "repo_path": "path", "repoPath": "path", "RepoPath": "path", "repo-path": "path", "repopath": "path", "file_name": "path",
		"path_id": "id", "fileKey": "id", "file_type": "id", "profile": "place", "user_profile": "place", "classpath": "other", "jsonPath": "path",
		"url": "url", "imageUrl": "url", "imageurl": "url", "projectURL": "url", "callback_uri": "url", "html_url": "url",
		"command": "command", "shellCommand": "command", "kubectl_command": "command", "args": "argv", "launchArgs": "argv",
		"sql": "sql", "sqlQuery": "sql", "query": "query", "search_query": "free", "cypher_query": "cypher",
		"$ref": "other", "$dynamicRef": "other", "ref": "ref", "branch": "ref", "baseBranch": "ref", "branch_name": "ref", "head": "ref", "commit_message": "free",
		"body": "free", "old_string": "free", "newText": "free", "textBody": "free", "message_id": "id", "title": "free",
		"to": "address", "toRecipients": "address", "limit": "limit", "maxResults": "limit", "per_page": "page",
		"table_name": "table", "name": "label", "display_name": "label", "colour_name": "label", "channel_names": "label",
		"": "other", "x": "other", "日本": "other", "a.b/c": "other", "data[0].path": "path", "zz_list": "label",
		"folder_list": "path", "homepage_string": "url", "message_list": "label",
	}
	lib.kind(name) == kind
}

test_words[name] if {
	some name, words in {
		"gitRemoteURL": ["git", "remote", "url"], "git_remote-url": ["git", "remote", "url"], "mcp__linear__save_comment": ["mcp", "linear", "save", "comment"],
		"HTTPServer": ["httpserver"], "fs.read": ["fs", "read"], "_x_": ["x"],
	}
	lib.words(name) == words
}
