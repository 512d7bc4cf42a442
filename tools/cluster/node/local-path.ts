import { tools } from '../../binaries/tool.ts'
import type { apiRequests } from '../api-request.ts'
import { ClusterError } from '../cluster-error.ts'
import { type ClusterPlan, filesOf } from '../cluster-layout.ts'
import type { ComponentPlan } from '../component.ts'
import { sandboxImage } from './containerd.ts'

const namespace = 'local-path-storage'
const configMap = 'local-path-config'

/** The provisioner of volumes on the node's disk; it runs outside and makes folders through helper pods. */
export async function localPathProvisioner(plan: ClusterPlan): Promise<ComponentPlan> {
  const paths = await tools(['local-path-provisioner'])
  const helperPod = filesOf(plan).data('local-path-helper.json')
  return {
    name: 'local-path-provisioner',
    command: paths['local-path-provisioner'],
    args: [
      'start',
      '--config',
      filesOf(plan).data('local-path-config.json'),
      '--kubeconfig',
      filesOf(plan).kubeconfig,
      '--namespace',
      namespace,
      '--helper-image',
      sandboxImage,
      '--helper-pod-file',
      helperPod,
      '--configmap-name',
      configMap,
      '--service-account-name',
      'default',
    ],
  }
}

const provisionerConfig = {
  nodePathMap: [{ node: 'DEFAULT_PATH_FOR_NON_LISTED_NODES', paths: ['/var/lib/local-path'] }],
}

const helperPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'helper-pod' },
  spec: {
    containers: [{ name: 'helper-pod', image: sandboxImage, imagePullPolicy: 'Never', command: ['/bin/sh'] }],
  },
}

/** What the provisioner reads from files, by file name. */
export const localPathFiles = {
  'local-path-config.json': JSON.stringify(provisionerConfig),
  'local-path-helper.json': JSON.stringify(helperPod),
}

/** Creates what the provisioner finds in the cluster: its namespace, settings and the default storage class. */
export async function createLocalPathObjects(
  request: Awaited<ReturnType<typeof apiRequests>>,
): Promise<void> {
  const objects: [path: string, body: object][] = [
    ['/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }],
    [
      `/api/v1/namespaces/${namespace}/configmaps`,
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: configMap },
        data: {
          'config.json': JSON.stringify(provisionerConfig),
          'helperPod.yaml': JSON.stringify(helperPod),
          setup: '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
          teardown: '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
        },
      },
    ],
    [
      '/apis/storage.k8s.io/v1/storageclasses',
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: {
          name: 'local-path',
          annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
        },
        provisioner: 'rancher.io/local-path',
        volumeBindingMode: 'WaitForFirstConsumer',
        reclaimPolicy: 'Delete',
      },
    ],
  ]
  for (const [path, body] of objects) {
    const answer = await request(path, { method: 'POST', body })
    if (answer?.status !== 201 && answer?.status !== 409) {
      throw new ClusterError('CLUSTER_FAILED', `creating ${path} for local volumes failed`, {
        hint: answer?.body ?? 'The API server did not answer',
      })
    }
  }
}
