package tests.starter.queries

import data.starter.queries
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := queries.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_queries_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"read_neo4j_cypher: write": {"tool": "read_neo4j_cypher", "arguments": {"query": "MATCH (n) SET n.x = 1 RETURN n"}, "rules": {"queries.cypher-write"}},
	"read_neo4j_cypher: write (2)": {"tool": "read_neo4j_cypher", "arguments": {"query": "CREATE (:A)"}, "rules": {"queries.cypher-start", "queries.cypher-write"}},
	"read_neo4j_cypher: write (3)": {"tool": "read_neo4j_cypher", "arguments": {"query": "MERGE (a:A {id:1})"}, "rules": {"queries.cypher-start", "queries.cypher-write"}},
	"read_neo4j_cypher: write (4)": {"tool": "read_neo4j_cypher", "arguments": {"query": "MATCH (n) DETACH DELETE n"}, "rules": {"queries.cypher-write", "queries.unbounded"}},
	"read_neo4j_cypher: file": {"tool": "read_neo4j_cypher", "arguments": {"query": "LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l"}, "rules": {"queries.cypher-procedure", "queries.cypher-start"}},
	"read_neo4j_cypher: URL": {"tool": "read_neo4j_cypher", "arguments": {"query": "CALL apoc.load.csv('http://169.254.169.254/')"}, "rules": {"queries.cypher-procedure"}},
	"read_neo4j_cypher: runs text": {"tool": "read_neo4j_cypher", "arguments": {"query": "CALL apoc.cypher.runWrite('CREATE (n)', {})"}, "rules": {"queries.cypher-procedure"}},
	"read_neo4j_cypher: administration": {"tool": "read_neo4j_cypher", "arguments": {"query": "CALL dbms.security.createUser('a','b')"}, "rules": {"queries.cypher-procedure"}},
	"read_neo4j_cypher: write (5)": {"tool": "read_neo4j_cypher", "arguments": {"query": "MATCH (n) REMOVE n.x"}, "rules": {"queries.cypher-write"}},
	"write_neo4j_cypher: whole graph": {"tool": "write_neo4j_cypher", "arguments": {"query": "MATCH (n) DETACH DELETE n"}, "rules": {"queries.unbounded"}},
	"read_neo4j_cypher: two statements": {"tool": "read_neo4j_cypher", "arguments": {"query": "RETURN 1; CREATE (n)"}, "rules": {"queries.cypher-statements", "queries.cypher-write"}},
	"read_neo4j_cypher: comment": {"tool": "read_neo4j_cypher", "arguments": {"query": "MATCH (n) /* x */ CREATE (m)"}, "rules": {"queries.cypher-write"}},
	"execute_cypher_query: schema": {"tool": "execute_cypher_query", "arguments": {"query": "DROP INDEX x"}, "rules": {"queries.cypher-start", "queries.cypher-write"}},
	"create_relations: relation type": {"tool": "create_relations", "arguments": {"relations": [{"source": "a", "target": "b", "relationType": "KNOWS`]->(x) DELETE x //"}]}, "rules": {"queries.identifier"}},
	"find_nodes_graph: label": {"tool": "find_nodes_graph", "arguments": {"label": "Person`) DETACH DELETE n //"}, "rules": {"queries.identifier"}},
	"graphql: mutation": {"tool": "graphql", "arguments": {"query": "mutation X { projectDelete(id: \"p\") }"}, "rules": {"queries.mutation"}},
	"graphql_query: mutation": {"tool": "graphql_query", "arguments": {"query": "mutation { deleteUsers(ids: [1]) { id } }"}, "rules": {"queries.mutation"}},
	"call_graphql: mutation behind a comment": {"tool": "call_graphql", "arguments": {"query": "# hi\nmutation($id: ID!) { environmentWipe(id: $id) }", "variables": {"id": "x"}}, "rules": {"queries.mutation"}},
	"find: JavaScript": {"tool": "find", "arguments": {"collection": "users", "filter": {"$where": "sleep(1000)"}}, "rules": {"queries.mongo"}},
	"aggregate: writes a collection": {"tool": "aggregate", "arguments": {"collection": "users", "pipeline": [{"$match": {}}, {"$out": "stolen"}]}, "rules": {"queries.mongo"}},
}

test_queries_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"find: in a string": {"tool": "find", "arguments": {"collection": "users", "query": "{\"$where\": \"1\"}"}, "rules": {"queries.mongo"}},
	"read_neo4j_cypher: words in literals, properties, comments": {"tool": "read_neo4j_cypher", "arguments": {"query": "MATCH (n) WHERE n.text CONTAINS 'DELETE' OR n.created > 1 RETURN n // create"}, "rules": set()},
	"create_entities: backquote in a name": {"tool": "create_entities", "arguments": {"entities": [{"name": "x`y", "type": "Person", "observations": ["a } b"]}]}, "rules": set()},
	"graphql: a query": {"tool": "graphql", "arguments": {"query": "query { deleteCandidates { id } }"}, "rules": set()},
	"graphql: a mutation that updates": {"tool": "graphql", "arguments": {"query": "mutation { updateItem(id: \"deleteMe\") { id } }"}, "rules": set()},
	"find: operator in a string": {"tool": "find", "arguments": {"filter": "{ $where: 'x' }"}, "rules": {"queries.mongo"}},
	"aggregate: aggregation that reads": {"tool": "aggregate", "arguments": {"pipeline": [{"$match": {"a": 1}}]}, "rules": set()},
}
