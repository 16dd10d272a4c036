package mcpservertest

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const templateStart, templateEnd = "test://template/", "/data"

// addResources adds two fixed resources, one that can be watched, and a template.
func addResources(server *mcp.Server) {
	add := func(uri, mime string, contents mcp.ResourceContents) {
		contents.URI, contents.MIMEType = uri, mime
		name := strings.TrimPrefix(uri, "test://")
		server.AddResource(&mcp.Resource{URI: uri, Name: name, MIMEType: mime, Description: "a resource for tests"},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&contents}}, nil
			})
	}
	add("test://static-text", mimeText, mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", mimePNG, mcp.ResourceContents{Blob: bytesOf(pixel)})
	add("test://watched-resource", mimeText, mcp.ResourceContents{Text: "Watched resource content"})
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "template", URITemplate: templateStart + "{id}" + templateEnd, MIMEType: "application/json", Description: "a template for tests",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		id := strings.TrimSuffix(strings.TrimPrefix(uri, templateStart), templateEnd)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: uri, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
		}}}, nil
	})
}

// addPrompts adds prompts without and with arguments, with a resource and with a picture.
func addPrompts(server *mcp.Server) {
	add := func(name string, say func(args map[string]string) []mcp.Content, arguments ...string) {
		prompt := &mcp.Prompt{Name: name, Description: "a prompt for tests"}
		for _, each := range arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: each, Description: "an argument", Required: true})
		}
		server.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			result := &mcp.GetPromptResult{Description: prompt.Description}
			for _, content := range say(req.Params.Arguments) {
				result.Messages = append(result.Messages, &mcp.PromptMessage{Role: "user", Content: content})
			}
			return result, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []mcp.Content { return said("This is a simple prompt for testing.") })
	add("test_prompt_with_arguments", func(args map[string]string) []mcp.Content {
		return said(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(args map[string]string) []mcp.Content {
		resource := &mcp.ResourceContents{URI: args["resourceUri"], MIMEType: mimeText, Text: "Embedded resource content for testing."}
		return append([]mcp.Content{&mcp.EmbeddedResource{Resource: resource}}, said("Please process the embedded resource above.")...)
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcp.Content {
		picture := &mcp.ImageContent{Data: bytesOf(pixel), MIMEType: mimePNG}
		return append([]mcp.Content{picture}, said("Please analyze the image above.")...)
	})
}
