package bundles_test

// childEnv tells the test binary that it is to be killed.
const childEnv = "REGOGATE_TEST_CHILD"

func runChild(string) {}
