// Package replay holds workflow code to histories that released versions recorded.
//
// A workflow that runs at a user's is continued by the next release from its recorded history. When a history does not
// replay, every such workflow stops with a non-determinism error at the upgrade: make the change behind
// workflow.GetVersion, or undo it. Never mend such a failure by recording anew.
//
// Fixtures are recorded from the commit that is released and from no other, with `make record RELEASE=v1.2.3`, and are
// never edited. They are unsealed and hold fake secrets only.
package replay
