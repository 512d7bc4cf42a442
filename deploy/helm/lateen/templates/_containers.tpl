{{/* Settings that pods of server and node agent share. Takes a dict of top and pod, the values of the pod. */}}
{{- define "lateen.podSettings" -}}
{{- with .top.Values.image.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .pod.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .pod.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations | default .pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Values for Velero's chart call the port by another name. */}}
{{- define "lateen.probe" -}}
{{- toYaml . | replace "port: http-monitoring" "port: metrics" }}
{{- end -}}

{{/* A container for each image of `plugins`, which copies programs into the server's folder. */}}
{{- define "lateen.pluginContainers" -}}
{{- $taken := dict }}
{{- range .Values.plugins }}
{{- $name := include "lateen.pluginName" . }}
{{- $count := add1 (get $taken $name | default 0 | int) }}
{{- $_ := set $taken $name $count }}
- name: {{ if gt $count 1 }}{{ printf "%s-%d" (trunc 57 $name | trimSuffix "-") $count }}{{ else }}{{ $name }}{{ end }}
  image: {{ . }}
  imagePullPolicy: {{ include "lateen.pullPolicy" $ }}
  resources: {}
  volumeMounts:
    - name: plugins
      mountPath: /target
{{- end }}
{{- end -}}

{{/* The server is not root, and what makes a new volume usually is: an empty folder is handed over, one with files is left alone. */}}
{{- define "lateen.ownerContainer" -}}
{{- $fs := .Values.configuration.filesystem }}
- name: backup-storage-owner
  image: {{ include "lateen.image" . }}
  imagePullPolicy: {{ include "lateen.pullPolicy" . }}
  command:
    - /usr/local/bin/node
    - -e
    - |-
      const fs = require('node:fs')
      const [folder, user] = process.argv.slice(1)
      fs.mkdirSync(folder, { recursive: true })
      if (fs.readdirSync(folder).length === 0) fs.chownSync(folder, Number(user), Number(user))
    - {{ trimSuffix "/" (printf "%s/%s" $fs.mountPath (include "lateen.filesystemBucket" .)) }}
    - "65532"
  resources: {}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      add: [CHOWN, DAC_OVERRIDE]
      drop: [ALL]
    readOnlyRootFilesystem: true
    runAsUser: 0
  volumeMounts:
    - name: backup-storage
      mountPath: {{ $fs.mountPath }}
{{- end -}}

{{/* The bucket of the first location in a folder. */}}
{{- define "lateen.filesystemBucket" -}}
{{- $bucket := "" }}
{{- if .Values.backupsEnabled }}
{{- range .Values.configuration.backupStorageLocation }}
{{- if and (not $bucket) (has .provider (list "filesystem" "velero.io/filesystem")) }}{{ $bucket = .bucket }}{{ end }}
{{- end }}
{{- end }}
{{- $bucket }}
{{- end -}}
