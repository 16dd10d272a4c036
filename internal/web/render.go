package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
)

//go:embed templates assets
var files embed.FS

// page is what a template is given.
type page struct {
	Name   string // of the template
	Status int    // 0: 200
	Title  string
	Body   any

	// The rest is filled in by render.
	Who     *auth.Principal
	Guard   string
	Here    string
	Now     time.Time
	Version string
	CanOut  bool
}

type pages struct {
	byName  map[string]*template.Template
	version string // of the assets
}

func parsePages() (pages, error) {
	made := pages{byName: map[string]*template.Template{}}
	layout, err := template.New("layout").Funcs(functions()).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return pages{}, err
	}
	for _, name := range []string{"message", "login", "home", "resume", "inbox", "history"} {
		own, err := layout.Clone()
		if err != nil {
			return pages{}, err
		}
		if made.byName[name], err = own.ParseFS(files, "templates/"+name+".html"); err != nil {
			return pages{}, err
		}
	}
	hash := sha256.New()
	for _, name := range []string{"app.js", "style.css", "icon.svg"} {
		raw, err := files.ReadFile("assets/" + name)
		if err != nil {
			return pages{}, err
		}
		hash.Write(raw)
	}
	made.version = hex.EncodeToString(hash.Sum(nil)[:6])
	return made, nil
}

func functions() template.FuncMap {
	return template.FuncMap{
		"iso":     func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") },
		"moment":  func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") },
		"span":    span,
		"visible": text.Visible,
		"has": func(all []string, one string) bool {
			for _, each := range all {
				if each == one {
					return true
				}
			}
			return false
		},
	}
}

// span says a length of time as people do.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Hour:
		return withRest(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s")
	case d < 48*time.Hour:
		return withRest(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min")
	default:
		return strconv.Itoa(int(d/(24*time.Hour))) + " days"
	}
}

// withRest leaves a rest of nothing out.
func withRest(whole int, unit string, rest int, restUnit string) string {
	text := strconv.Itoa(whole) + " " + unit
	if rest == 0 {
		return text
	}
	return text + " " + strconv.Itoa(rest) + " " + restUnit
}

func (w *Web) render(rw http.ResponseWriter, v *visit, p page) {
	p.Now, p.Version, p.Here = w.Now(), w.pages.version, v.URL.Path
	if v.session.Guard != "" {
		p.Who, p.Guard, p.CanOut = &v.session.Principal, v.session.Guard, !w.Auth.Open()
	}
	var out bytes.Buffer
	if err := w.pages.byName[p.Name].ExecuteTemplate(&out, "layout", p); err != nil {
		w.log.ErrorContext(v.Context(), "page cannot be written", "error", err, "path", v.URL.Path)
		http.Error(rw, "The page cannot be written.", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	if p.Status != 0 {
		rw.WriteHeader(p.Status)
	}
	_, _ = rw.Write(out.Bytes()) // the reader may have gone
}

// part makes a part of a page, for live updates.
func (w *Web) part(pageName, name string, body any) (string, error) {
	var out bytes.Buffer
	err := w.pages.byName[pageName].ExecuteTemplate(&out, name, body)
	return out.String(), err
}

func (w *Web) asset(rw http.ResponseWriter, v *visit) {
	name := v.PathValue("file")
	raw, err := files.ReadFile("assets/" + name)
	if err != nil {
		w.nothing(rw, v)
		return
	}
	h := rw.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	if v.URL.Query().Get("v") == w.pages.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = rw.Write(raw) // the reader may have gone
}
