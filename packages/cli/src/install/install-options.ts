import type { Rights } from './cluster-role.ts'
import type { Resources } from './resources.ts'

/** Everything that shapes the objects of an installation. Files are read, durations are in Go's notation. */
export interface InstallOptions {
  readonly namespace: string
  readonly image: string
  readonly provider: string
  /** Absent: no default backup location. */
  readonly backupLocation?: {
    readonly bucket: string
    readonly prefix?: string
    readonly config: Readonly<Record<string, string>>
    readonly caCert?: Uint8Array
  }
  /** Absent: no default volume snapshot location. */
  readonly snapshotLocation?: { readonly config: Readonly<Record<string, string>> }
  /** Absent: no Secret, and none is mounted. */
  readonly secret?: Uint8Array
  /** Absent: `velero` is made and given its rights. */
  readonly serviceAccountName?: string
  /** What the server may do. Absent: everything, as cluster-admin. */
  readonly rights?: Rights
  readonly serviceAccountAnnotations: Readonly<Record<string, string>>
  readonly podAnnotations: Readonly<Record<string, string>>
  readonly podLabels: Readonly<Record<string, string>>
  readonly features: readonly string[]
  readonly backupRepositoryConfigMap?: string
  /** A folder for locations of the provider `filesystem`. Absent: none is mounted. */
  readonly filesystem?: FilesystemVolume
  readonly server: ServerPodOptions
  readonly nodeAgent: NodeAgentPodOptions
}

/** A claim or a folder of the nodes; exactly one of the two. */
export interface FilesystemVolume {
  readonly claim?: string
  readonly hostPath?: string
  /** Where pods find it. */
  readonly mountPath: string
  /** The folder, in the volume, of the default location. */
  readonly bucket?: string
}

/** What only the server's pod needs. */
export interface ServerPodOptions {
  readonly replicas: number
  /** How the data of volumes is stored. */
  readonly uploaderType: string
  readonly resources: Resources
  readonly plugins: readonly string[]
  readonly priorityClassName?: string
  readonly csiSnapshotEarlyFrequentPolling: boolean
  /** Arguments after `server`, ready to use. */
  readonly args: readonly string[]
}

/** What only the node agent's pods need. */
export interface NodeAgentPodOptions {
  readonly linux: boolean
  readonly windows: boolean
  readonly resources: Resources
  readonly privileged: boolean
  readonly hostPath: boolean
  readonly kubeletRootDir: string
  readonly configMap?: string
  readonly priorityClassName?: string
}
