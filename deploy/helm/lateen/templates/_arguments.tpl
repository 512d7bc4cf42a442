{{/* The server's arguments, in the order in which `lateen install` writes them. */}}
{{- define "lateen.serverArguments" -}}
{{- $c := .Values.configuration }}
{{- $job := $c.repositoryMaintenanceJob.repositoryConfigData }}
{{- $maintenance := $c.repoMaintenanceJobConfigMap }}
{{- if and (not $maintenance) (or $job.global $job.repositories) }}{{ $maintenance = $job.name }}{{ end }}
- server
{{- with $c.features }}
- {{ printf "--features=%s" . | quote }}
{{- end }}
{{- range list
      (list "default-volumes-to-fs-backup" $c.defaultVolumesToFsBackup)
      (list "default-snapshot-move-data" $c.defaultSnapshotMoveData)
      (list "disable-informer-cache" $c.disableInformerCache)
      (list "schedule-skip-immediately" $c.scheduleSkipImmediately) }}
{{- if last . }}
- --{{ first . }}=true
{{- end }}
{{- end }}
- --uploader-type={{ $c.uploaderType | default "kopia" }}
{{- if $c.restoreOnlyMode }}
- --restore-only
{{- end }}
{{- include "lateen.valueArguments" (list
      (list "default-repo-maintain-frequency" $c.defaultRepoMaintainFrequency)
      (list "garbage-collection-frequency" $c.garbageCollectionFrequency)
      (list "fs-backup-timeout" $c.fsBackupTimeout)
      (list "backup-repository-configmap" $c.backupRepositoryConfigMap)
      (list "repo-maintenance-job-configmap" $maintenance)
      (list "item-block-worker-count" $c.itemBlockWorkerCount)
      (list "concurrent-backups" $c.concurrentBackups)) }}
{{- if gt (int .Values.replicas) 1 }}
- --leader-elect
{{- end }}
{{- include "lateen.valueArguments" (list
      (list "backup-sync-period" $c.backupSyncPeriod)
      (list "client-burst" $c.clientBurst)
      (list "client-page-size" $c.clientPageSize)
      (list "client-qps" $c.clientQPS)
      (list "default-backup-storage-location" $c.defaultBackupStorageLocation)
      (list "default-backup-ttl" $c.defaultBackupTTL)
      (list "default-item-operation-timeout" $c.defaultItemOperationTimeout)
      (list "default-volume-snapshot-locations" $c.defaultVolumeSnapshotLocations)
      (list "disable-controllers" $c.disableControllers)
      (list "log-format" $c.logFormat)
      (list "log-level" $c.logLevel)
      (list "metrics-address" $c.metricsAddress)
      (list "plugin-dir" $c.pluginDir)
      (list "profiler-address" $c.profilerAddress)
      (list "restore-resource-priorities" $c.restoreResourcePriorities)
      (list "store-validation-frequency" $c.storeValidationFrequency)
      (list "terminating-resource-timeout" $c.terminatingResourceTimeout)) }}
{{- range $c.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "lateen.agentArguments" -}}
{{- $c := .Values.configuration }}
- node-agent
- server
{{- include "lateen.valueArguments" (list
      (list "features" $c.features)
      (list "node-agent-configmap" (include "lateen.agentConfigMap" .))
      (list "backup-repository-configmap" $c.backupRepositoryConfigMap)
      (list "data-mover-prepare-timeout" $c.dataMoverPrepareTimeout)
      (list "log-format" $c.logFormat)
      (list "log-level" $c.logLevel)) }}
{{- range .Values.nodeAgent.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Takes pairs of a flag and its value; flags without a value are left out. */}}
{{- define "lateen.valueArguments" -}}
{{- range . }}
{{- if last . }}
- {{ printf "--%s=%s" (first .) (include "lateen.plainText" (last .)) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Numbers come as floating-point ones, which print large values with an exponent. */}}
{{- define "lateen.plainText" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end -}}
