import path from 'node:path/posix'
import type { FilesystemVolume, InstallOptions } from './install-options.ts'
import { installMetadata } from './labels.ts'
import { confined, imageUser, pullPolicyOf } from './pod-parts.ts'

const volumeName = 'backup-storage'
const servicePort = 8085

/** How a folder for backups reaches a pod; empty lists without one. */
export interface FilesystemParts {
  readonly volumes: readonly object[]
  readonly mounts: readonly object[]
  /** Of the server, which hands out the files in that folder itself. */
  readonly env: readonly object[]
  readonly initContainers: readonly object[]
}

export function filesystemParts(options: InstallOptions): FilesystemParts {
  const { filesystem, namespace } = options
  if (filesystem === undefined) return { volumes: [], mounts: [], env: [], initContainers: [] }
  const mount = { name: volumeName, mountPath: filesystem.mountPath }
  return {
    volumes: [{ name: volumeName, ...sourceOf(filesystem) }],
    mounts: [mount],
    env: [
      // In the environment, not an argument: Velero's server would refuse to start with an argument that it does not know.
      { name: 'LATEEN_DOWNLOAD_URL_BASE', value: `http://velero.${namespace}.svc:${servicePort}` },
    ],
    initContainers: [ownerContainer(options.image, filesystem, mount)],
  }
}

/** How clients in the cluster reach files that the server hands out itself; undefined where there are none. */
export function downloadServiceObject({ filesystem, namespace }: InstallOptions): object | undefined {
  if (filesystem === undefined) return undefined
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: installMetadata('velero', namespace),
    spec: {
      ports: [{ name: 'metrics', port: servicePort, protocol: 'TCP', targetPort: 'metrics' }],
      selector: { deploy: 'velero' },
    },
  }
}

function sourceOf({ claim, hostPath }: FilesystemVolume): object {
  return claim === undefined
    ? { hostPath: { path: hostPath, type: 'DirectoryOrCreate' } }
    : { persistentVolumeClaim: { claimName: claim } }
}

/**
 * The server is not root, and what makes a new volume usually is. A folder that is missing is made, and an empty one is handed
 * over; one with files in it is left as it is.
 */
const handOver = [
  "const fs = require('node:fs')",
  'const [folder, user] = process.argv.slice(1)',
  'fs.mkdirSync(folder, { recursive: true })',
  'if (fs.readdirSync(folder).length === 0) fs.chownSync(folder, Number(user), Number(user))',
].join('\n')

function ownerContainer(image: string, { mountPath, bucket }: FilesystemVolume, mount: object): object {
  return {
    name: 'backup-storage-owner',
    image,
    imagePullPolicy: pullPolicyOf(image),
    command: ['/usr/local/bin/node', '-e', handOver, path.join(mountPath, bucket ?? ''), String(imageUser)],
    resources: {},
    securityContext: {
      ...confined,
      capabilities: { add: ['CHOWN', 'DAC_OVERRIDE'], drop: ['ALL'] },
      runAsUser: 0,
    },
    volumeMounts: [mount],
  }
}
