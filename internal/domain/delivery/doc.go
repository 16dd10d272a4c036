// Package delivery is the ledger of one connection: what was wanted, what was delivered to the engine, what was
// proven. Nothing else writes an entry's state.
//
// It is pure: [Apply] takes an entry, an event and a time and returns the next entry. The connection workflow
// owns time and effects; because the ledger depends on nothing but its input, it replays the same way for ever.
package delivery
