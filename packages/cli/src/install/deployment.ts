import type { InstallOptions } from './install-options.ts'
import { installLabels, installMetadata } from './labels.ts'
import { pluginContainers } from './plugin-containers.ts'
import {
  credentialParts,
  fromField,
  metricsPorts,
  programInImage,
  pullPolicyOf,
  windowsAffinity,
} from './pod-parts.ts'

const scrapeAnnotations = {
  'prometheus.io/path': '/metrics',
  'prometheus.io/port': '8085',
  'prometheus.io/scrape': 'true',
}

/** The server: Deployment `velero`. */
export function deploymentObject(options: InstallOptions): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: installMetadata('velero', options.namespace),
    spec: {
      selector: { matchLabels: { deploy: 'velero' } },
      strategy: {},
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
  const initContainers = pluginContainers(server.plugins, pullPolicyOf(options.image))
  return {
    affinity: windowsAffinity('NotIn'),
    containers: [serverContainer(options)],
    ...(initContainers.length === 0 ? {} : { initContainers }),
    os: { name: 'linux' },
    ...(server.priorityClassName === undefined ? {} : { priorityClassName: server.priorityClassName }),
    restartPolicy: 'Always',
    serviceAccountName: options.serviceAccountName ?? 'velero',
    volumes: [{ name: 'plugins', emptyDir: {} }, { name: 'scratch', emptyDir: {} }, ...credentials.volumes],
  }
}

function serverContainer(options: InstallOptions): object {
  const { server } = options
  const credentials = credentialParts(options.secret !== undefined)
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
    ],
    resources: server.resources,
    volumeMounts: [
      { name: 'plugins', mountPath: '/plugins' },
      { name: 'scratch', mountPath: '/scratch' },
      ...credentials.mounts,
    ],
  }
}
