import { filesystemParts } from './filesystem-volume.ts'
import type { InstallOptions } from './install-options.ts'
import { installLabels, installMetadata } from './labels.ts'
import { pluginContainers } from './plugin-containers.ts'
import {
  confined,
  credentialParts,
  fromField,
  metricsPorts,
  programInImage,
  pullPolicyOf,
  seccompDefault,
  temporaryParts,
  windowsAffinity,
} from './pod-parts.ts'

const scrapeAnnotations = {
  'prometheus.io/path': '/metrics',
  'prometheus.io/port': '8085',
  'prometheus.io/scrape': 'true',
}

/** Says, on the Deployment, how the server stores the data of volumes. */
export const uploaderTypeLabel = 'velero.io/uploader-type'

/**
 * A volume that one node holds is free for a new pod only when the old one has gone. Otherwise the old one serves until the new one
 * does.
 */
const oldPodFirst = { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 }, type: 'RollingUpdate' } as const

/** The server: Deployment `velero`. */
export function deploymentObject(options: InstallOptions): object {
  const { server, filesystem } = options
  const metadata = installMetadata('velero', options.namespace)
  metadata.labels[uploaderTypeLabel] = server.uploaderType
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      // One is the default, and a field that is not set is nobody's: `velero install --apply` leaves no second Velero running.
      ...(server.replicas === 1 ? {} : { replicas: server.replicas }),
      selector: { matchLabels: { deploy: 'velero' } },
      strategy: filesystem?.claim === undefined ? {} : oldPodFirst,
      template: {
        metadata: {
          annotations: { ...scrapeAnnotations, ...options.podAnnotations },
          labels: { ...installLabels, ...options.podLabels, deploy: 'velero' },
        },
        spec: serverPod(options),
      },
    },
  }
}

function serverPod(options: InstallOptions): object {
  const { server } = options
  const credentials = credentialParts(options.secret !== undefined)
  const folder = filesystemParts(options)
  const initContainers = [
    ...folder.initContainers,
    ...pluginContainers(server.plugins, pullPolicyOf(options.image)),
  ]
  return {
    affinity: { ...windowsAffinity('NotIn'), ...(server.replicas === 1 ? {} : apart) },
    containers: [serverContainer(options)],
    ...(initContainers.length === 0 ? {} : { initContainers }),
    os: { name: 'linux' },
    ...(server.priorityClassName === undefined ? {} : { priorityClassName: server.priorityClassName }),
    restartPolicy: 'Always',
    securityContext: seccompDefault,
    serviceAccountName: options.serviceAccountName ?? 'velero',
    volumes: [
      { name: 'plugins', emptyDir: {} },
      { name: 'scratch', emptyDir: {} },
      temporaryParts.volume,
      ...credentials.volumes,
      ...folder.volumes,
    ],
  }
}

/** Replicas go to different nodes where there are several. */
const apart = {
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        podAffinityTerm: {
          labelSelector: { matchLabels: { deploy: 'velero' } },
          topologyKey: 'kubernetes.io/hostname',
        },
        weight: 100,
      },
    ],
  },
}

/** Velero's server answers there as well, so that the probe suits whichever image runs. */
const readinessProbe = {
  httpGet: { path: '/metrics', port: 'metrics' },
  periodSeconds: 5,
  timeoutSeconds: 5,
} as const

/** By number: Velero's image names its user, and of a name nobody can tell whether it is root. */
const unprivilegedUser = { runAsNonRoot: true, runAsUser: 65532 } as const

function serverContainer(options: InstallOptions): object {
  const { server } = options
  const credentials = credentialParts(options.secret !== undefined)
  const folder = filesystemParts(options)
  const polling = { name: 'CSI_SNAPSHOT_EARLY_FREQUENT_POLLING', value: 'true' }
  return {
    name: 'velero',
    image: options.image,
    imagePullPolicy: pullPolicyOf(options.image),
    command: [programInImage],
    args: ['server', ...server.args],
    ports: metricsPorts,
    env: [
      { name: 'VELERO_SCRATCH_DIR', value: '/scratch' },
      fromField('VELERO_NAMESPACE', 'metadata.namespace'),
      { name: 'LD_LIBRARY_PATH', value: '/plugins' },
      ...credentials.env,
      ...(server.csiSnapshotEarlyFrequentPolling ? [polling] : []),
      ...temporaryParts.env,
      ...folder.env,
    ],
    readinessProbe,
    resources: server.resources,
    securityContext: { ...confined, ...unprivilegedUser },
    volumeMounts: [
      { name: 'plugins', mountPath: '/plugins' },
      { name: 'scratch', mountPath: '/scratch' },
      temporaryParts.mount,
      ...credentials.mounts,
      ...folder.mounts,
    ],
  }
}
