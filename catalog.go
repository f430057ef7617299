package onefold

import (
	"encoding/json"
	"time"
)

// What the interfaces show of the published documents. The structs are plain
// data: whoever holds the compiled documents fills them in, and what is derived
// (protection, plan, warnings) is derived there and nowhere else. Members are
// always present in JSON, null or empty where there is nothing.

// CapabilityInfo is one published capability, in its newest version.
type CapabilityInfo struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Versions are all published versions, rising.
	Versions []int  `json:"versions"`
	Summary  string `json:"summary"`
	Owner    string `json:"owner"`
	// Request is the JSON Schema of the newest version's request.
	Request json.RawMessage `json:"request"`
	// Connections names the workspace's connections that serve the newest version.
	Connections []string `json:"connections"`
}

// TargetInfo is one published target, in its newest version.
type TargetInfo struct {
	Name       string                `json:"name"`
	Version    int                   `json:"version"`
	Versions   []int                 `json:"versions"`
	Protocol   string                `json:"protocol"`
	Operations []TargetOperationInfo `json:"operations"`
}

// TargetOperationInfo is how a target behaves in one of its operations.
type TargetOperationInfo struct {
	Capability string     `json:"capability"` // as written: name, or name@version
	Protection Protection `json:"protection"`
	// InDoubt is the contract's list, in order.
	InDoubt []RecoveryStep `json:"in_doubt"`
}

// ConnectionInfo is one connection of a workspace, as it is published; whether
// it is paused is the store's to say.
type ConnectionInfo struct {
	Workspace     string `json:"workspace"`
	Name          string `json:"name"`
	Revision      int    `json:"revision"`
	Account       string `json:"account"`
	Target        string `json:"target"`
	TargetVersion int    `json:"target_version"`
	URL           string `json:"url"` // without credentials
	Owner         string `json:"owner"`
	// Mode is what the document declares; the mode in force can differ by
	// capability (M27) and stands under Serves.
	Mode         Mode                 `json:"declared_mode"`
	Limits       Limits               `json:"-"`
	Acknowledged *AcknowledgementInfo `json:"acknowledged"`
	Serves       []ServedCapability   `json:"serves"`
}

// AcknowledgementInfo is who accepted a connection's limitations, when and why.
type AcknowledgementInfo struct {
	By     string `json:"by"`
	Date   string `json:"date"`
	Reason string `json:"reason"`
}

// ServedCapability is what a connection does for one capability.
type ServedCapability struct {
	Capability string     `json:"capability"`
	Version    int        `json:"version"`
	Protection Protection `json:"protection"`
	// Mode is the mode in force (M27).
	Mode Mode `json:"mode"`
	// Plan says in words, step by step, what happens in doubt.
	Plan     []string `json:"plan"`
	Warnings []string `json:"warnings"`
}

// Agreement is the integration agreement of a capability over a connection,
// written from the contract that runs (I33).
type Agreement struct {
	Workspace       string     `json:"workspace"`
	Capability      string     `json:"capability"`
	ContractVersion int        `json:"contract_version"`
	Connection      string     `json:"connection"`
	Target          string     `json:"target"`
	TargetVersion   int        `json:"target_version"`
	Protection      Protection `json:"protection"`
	Mode            Mode       `json:"mode"`
	// Sections are the agreement's parts in order.
	Sections []AgreementSection `json:"sections"`
	// Markdown is the whole as one page.
	Markdown string `json:"markdown"`
}

// AgreementSection is one part of an agreement.
type AgreementSection struct {
	ID    string `json:"id"` // lower case, stable: keys, comparison, retention …
	Title string `json:"title"`
	// Lines are whole sentences, or facts of the form "name: value".
	Lines []string `json:"lines"`
}

// PauseInfo is since when, by whom and why a connection is paused.
type PauseInfo struct {
	Since  time.Time `json:"since"`
	By     Actor     `json:"by"`
	Reason string    `json:"reason"`
}
