// Package health is the catalogue of everything that can be wrong with a
// connection: failure codes, the stage at which each is found, whether trying
// again can help, and the phase that a whole connection is in because of it.
//
// It is pure: no clock, no network, no storage. The delivery state machine, the
// probe, the engine client's callers and every read path build their failures
// here, so a code, its retryability and its advice are decided in one place.
package health
