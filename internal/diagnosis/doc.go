// Package diagnosis reads the whole health document of a connection: what is wanted, how the delivery stands by the
// connection's workflow, what the engine says now, which tools models get, and, where asked, what the endpoint itself
// lists. A read without a probe calls the engine only, all at once, and the endpoint not at all; the document is put together in
// the fixed order in which failures explain each other. It changes nothing, but where it sees something else than the
// workflow tells, it wakes the workflow once. A connection is never called usable by the engine's word alone: the ledger
// must hold the delivery of this revision as ready and verified.
package diagnosis
