{{/* Pods stay off, or on, Windows nodes. Takes the operator. */}}
{{- define "lateen.windowsAffinity" -}}
requiredDuringSchedulingIgnoredDuringExecution:
  nodeSelectorTerms:
    - matchExpressions:
        - key: kubernetes.io/os
          operator: {{ . }}
          values: [windows]
{{- end -}}

{{- define "lateen.credentialEnv" -}}
{{- if include "lateen.secret" . }}
- name: GOOGLE_APPLICATION_CREDENTIALS
  value: /credentials/cloud
- name: AWS_SHARED_CREDENTIALS_FILE
  value: /credentials/cloud
- name: AZURE_CREDENTIALS_FILE
  value: /credentials/cloud
- name: ALIBABA_CLOUD_CREDENTIALS_FILE
  value: /credentials/cloud
{{- range $name, $_ := .Values.credentials.extraEnvVars }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ include "lateen.secret" $ }}
      key: {{ $name }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "lateen.credentialMount" -}}
{{- if include "lateen.secret" . }}
- name: cloud-credentials
  mountPath: /credentials
{{- end }}
{{- end -}}

{{- define "lateen.credentialVolume" -}}
{{- with include "lateen.secret" . }}
- name: cloud-credentials
  secret:
    secretName: {{ . }}
    defaultMode: 292
{{- end }}
{{- end -}}

{{- define "lateen.envFrom" -}}
{{- with .Values.credentials.extraSecretRef }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
{{- end -}}

{{/* HOME and TMPDIR lie on a volume, for nothing else can be written to. */}}
{{- define "lateen.temporaryEnv" -}}
- name: HOME
  value: /tmp
- name: TMPDIR
  value: /tmp
{{- end -}}

{{- define "lateen.filesystemVolume" -}}
{{- with .Values.configuration.filesystem }}
{{- if .claim }}
- name: backup-storage
  persistentVolumeClaim:
    claimName: {{ .claim }}
{{- else if .hostPath }}
- name: backup-storage
  hostPath:
    path: {{ .hostPath }}
    type: DirectoryOrCreate
{{- end }}
{{- end }}
{{- end -}}

{{- define "lateen.filesystemMount" -}}
{{- if include "lateen.isFilesystem" . }}
- name: backup-storage
  mountPath: {{ .Values.configuration.filesystem.mountPath }}
{{- end }}
{{- end -}}
