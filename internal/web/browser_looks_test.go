package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// said is what a source says of its tool, in lines and with a word that fits no phone.
const said = "Creates an issue in a repository.\n\nThe body is Markdown; labels have to exist. Returns the issue's number and its link.\n" +
	"https://docs.example/tools/github/create_issue#" + "averylongfragmentthatnobodyneedstoread"

// states are pages in each state that somebody may find them in, by the name of their picture.
func (r *rig) states() map[string]string {
	r.t.Helper()
	r.tools.knows("github.create_issue", said, "")
	long := r.pause(asking(`{"text":"`+strings.Repeat("averylongword", 30)+`"}`), func(_ *store.Execution, p *store.PauseRow) {
		p.Request.Message = "Send a long message " + strings.Repeat("x", 200)
	})
	pending, form, decided, expired := r.pause(), r.pause(asForm), r.pause(), r.pause(func(_ *store.Execution, p *store.PauseRow) {
		p.CreatedAt = p.CreatedAt.Add(-5 * time.Minute)
		p.Deadline = p.CreatedAt.Add(4 * time.Minute)
	})
	r.as("ann").post(link(decided), "action", "accept", "reason", "it is the right repository")
	r.settle(decided.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "Created issue #128 in acme/site")
	r.expire(expired)
	return map[string]string{
		"long": link(long), "pending": link(pending), "form": link(form), "decided": link(decided), "expired": link(expired), "inbox": "/approvals",
		"history": "/approvals/history", "home": "/",
	}
}

func TestEveryPageFitsAPhoneAndIsReadableInLightAndDark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	states := r.states()
	b := r.browser().login("ann", "/").sees("Connect a client")
	for scheme, wide := range map[string]bool{"light": true, "dark": true, "phone": false, "phone-dark": false} {
		run(b, scheming(strings.TrimPrefix(scheme, "phone-")))
		if wide {
			run(b, chromedp.EmulateViewport(1100, 900))
		} else {
			run(b, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
		}
		for name, path := range states {
			b.open(path).sees("Log out")
			b.shoot(scheme + "-" + name)
			require.True(t, b.fits(), "%s %s", scheme, name)
			require.Empty(t, b.faint(), "%s %s", scheme, name)
			require.Empty(t, b.broken(), "%s %s", scheme, name)
		}
	}
}

// broken are the buttons whose words do not fit one line.
func (b *tab) broken() []string {
	b.r.t.Helper()
	return run(b, chromedp.Evaluate[[]string](
		`[...document.querySelectorAll("button, .button")].filter((el) => el.offsetHeight > 50).map((el) => el.textContent)`))
}

// faint are the texts whose contrast with what is behind them is less than people need to read them.
func (b *tab) faint() []string {
	b.r.t.Helper()
	return run(b, chromedp.Evaluate[[]string](`(() => {
		const parts = (color) => color.match(/[\d.]+/g).map(Number);
		const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
			.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (el) => {
			for (; el; el = el.parentElement) {
				const color = parts(getComputedStyle(el).backgroundColor);
				if (color.length === 3 || color[3] === 1) return color;
			}
			return [255, 255, 255];
		};
		const faint = [];
		for (const el of document.querySelectorAll("body *")) {
			const own = [...el.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.textContent.trim()).join("");
			if (!own || !el.checkVisibility() || el.closest("dialog, .skip, option")) continue;
			const [a, b] = [light(parts(getComputedStyle(el).color)), light(behind(el))];
			if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.push(own);
		}
		return faint;
	})()`))
}

// scheming makes the browser prefer dark pages, or light ones.
func scheming(scheme string) chromedp.Action[chromedp.Void] {
	if scheme != "dark" {
		scheme = "light"
	}
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return chromedp.Void{}, err
	}
}

func TestAViolationOfTheContentSecurityPolicyIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.browser().open("/login").sees("API token")
	run(b, chromedp.Evaluate[bool](`document.body.setAttribute("style", "color: red") === undefined`))
	testkit.Eventually(t, within, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.complaints) == 1 && strings.Contains(b.complaints[0], "Content Security Policy")
	}, "the browser complains")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = nil
}
