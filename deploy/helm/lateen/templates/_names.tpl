{{/* Labels of every object: the first is how `lateen uninstall` and `velero uninstall` know their own. */}}
{{- define "lateen.labels" -}}
component: velero
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Names of cluster-wide objects hold the namespace, so that two installations do not meet. Takes a dict of word and top. */}}
{{- define "lateen.wideName" -}}
{{- if eq .top.Release.Namespace "velero" }}{{ .word }}{{ else }}{{ .word }}-{{ .top.Release.Namespace }}{{ end }}
{{- end -}}

{{- define "lateen.serviceAccount" -}}
{{- .Values.serviceAccount.server.name | default "velero" -}}
{{- end -}}

{{/* Whether node agents have an account of their own: where the server's is not allowed everything, and is not one that exists already. */}}
{{- define "lateen.ownAgentAccount" -}}
{{- if and (or .Values.deployNodeAgent .Values.deployNodeAgentWindows) .Values.rbac.create (not .Values.rbac.clusterAdministrator) .Values.serviceAccount.server.create (not .Values.serviceAccount.server.name) }}true{{ end }}
{{- end -}}

{{- define "lateen.agentAccount" -}}
{{- if include "lateen.ownAgentAccount" . }}lateen-node-agent{{ else }}{{ include "lateen.serviceAccount" . }}{{ end }}
{{- end -}}

{{/* The ConfigMap of node agents; empty where there is none. */}}
{{- define "lateen.agentConfigMap" -}}
{{- with .Values.configuration }}{{ .nodeAgentConfigMap | default (ternary "node-agent-config" "" (not (empty .nodeAgentConfig))) }}{{ end }}
{{- end -}}

{{/* The Secret of credentials; empty where there are none. */}}
{{- define "lateen.secret" -}}
{{- with .Values.credentials }}
{{- if and .useSecret (or .existingSecret .secretContents .extraEnvVars) }}{{ .existingSecret | default .name | default "cloud-credentials" }}{{ end }}
{{- end }}
{{- end -}}

{{- define "lateen.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default (printf "v%s" $.Chart.AppVersion) }}{{ end }}
{{- end }}
{{- end -}}

{{/* An image with a fixed tag is pulled once, any other every time, unless the values say how. */}}
{{- define "lateen.pullPolicy" -}}
{{- if .Values.image.pullPolicy }}{{ .Values.image.pullPolicy }}
{{- else if or .Values.image.digest (ne .Values.image.tag "latest") }}IfNotPresent
{{- else }}Always{{ end }}
{{- end -}}

{{/* Whether pods get a folder for locations of the provider filesystem. */}}
{{- define "lateen.isFilesystem" -}}
{{- with .Values.configuration.filesystem }}{{ if or .claim .hostPath }}true{{ end }}{{ end }}
{{- end -}}

{{/* The name that `lateen install --plugins` gives a plugin's container. */}}
{{- define "lateen.pluginName" -}}
{{- $repository := regexReplaceAll "@.*$" . "" }}
{{- $repository = regexReplaceAll ":[^/:]*$" $repository "" }}
{{- $parts := splitList "/" . }}
{{- if or (hasPrefix "/" .) (gt (len $parts) 2) }}{{ $repository = regexReplaceAll "^[^/]*/" $repository "" }}{{ end }}
{{- $name := regexReplaceAll "[/_.:]" $repository "-" }}
{{- if gt (len $name) 63 }}{{ printf "%s%s" (trunc 57 $name) (sha256sum $name | trunc 6) }}{{ else }}{{ $name }}{{ end }}
{{- end -}}
