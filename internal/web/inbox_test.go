package web_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestTheInboxIsOnesOwnAndAnOperatorsIsTheOrganisations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mine := r.pause()
	bobs := r.pause(func(e *store.Execution, _ *store.PauseRow) { e.Identity.Account = "bob" })
	evils := r.pause(func(e *store.Execution, _ *store.PauseRow) {
		e.Identity = approval.Identity{Account: "eve", Organisation: "evil"}
	})
	for user, sees := range map[string][]bool{"ann": {true, false, false}, "bob": {false, true, false}, "ops": {true, true, false}, "eve": {false, false, true}} {
		body := r.as(user).get("/approvals").body
		for i, row := range []store.PauseRow{mine, bobs, evils} {
			require.Equal(t, sees[i], strings.Contains(body, link(row)), "%s %d", user, i)
		}
	}
	require.Equal(t, http.StatusSeeOther, r.as("ops").post(link(bobs), "action", "accept").status)
}

// asking makes an execution with arguments of the test's own.
func asking(arguments string) func(*store.Execution, *store.PauseRow) {
	return func(e *store.Execution, _ *store.PauseRow) { e.Arguments = []byte(arguments) }
}

// linesOf are the lines of arguments that an inbox shows, the newest call first.
func linesOf(body string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`<span class="line"><bdi>([^<]*)</bdi>`).FindAllStringSubmatch(body, -1) {
		found = append(found, html.UnescapeString(match[1]))
	}
	return found
}

func TestTheInboxTellsCallsOfOneToolApartByTheirArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for _, arguments := range []string{
		`{"pin":"1234","repo":"a<b>"}`, `{"pin":"1234","repo":"b","token":"hft_s3cr3t"}`, `{"repo":"` + strings.Repeat("ü", 200) + `"}`,
		`{"repo":"` + strings.Repeat("x", 40<<10) + `"}`,
	} {
		r.pause(asking(arguments))
	}
	r.tools.unlisted = "github"
	require.Equal(t, []string{"40 KiB of arguments"}, linesOf(ann.get("/approvals").body), "it is not known yet which of them are secrets")
	r.tools.knows("github.create_issue", "", `{"properties":{"pin":{"type":"string","format":"password"}}}`)
	require.Equal(t, []string{
		"40 KiB of arguments", `{"repo":"` + strings.Repeat("ü", 111) + "…", `{"pin":"[REDACTED]","repo":"b","token":"[REDACTED]"}`,
		`{"pin":"[REDACTED]","repo":"a<b>"}`,
	}, linesOf(ann.get("/approvals").body))
	r.pause(asking(`{"token":"hft_s3cr3t"}`), func(e *store.Execution, _ *store.PauseRow) { e.Address = "gone.tool" })
	require.Equal(t, []string{`{"token":"[REDACTED]"}`}, linesOf(ann.get("/approvals").body)[:1], "names tell secrets of a tool that there is no more")
}

func TestALiveInboxReadsTheArgumentsOfACallOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.pause()
	told := r.as("ann").listen("/approvals/events")
	r.sees(&r.store.arguments, 1)
	for read := int64(2); read < 5; read++ {
		r.pause(asking(`{"a":1}`))
		r.sees(&r.store.arguments, read)
	}
	r.web.Drain()
	require.Contains(t, <-told, `{\u0026#34;a\u0026#34;:1}`)
	require.EqualValues(t, 4, r.store.arguments.Load())
}
