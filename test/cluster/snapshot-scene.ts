import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Backup, VolumeSnapshotLocationSpec } from '@lateen/api'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { isTerminal } from './backups.ts'

/** A hostPath volume with its claim. */
export interface FolderVolume {
  /** Of the claim, and of the folder. */
  name: string
  /** On the claim. */
  labels?: Record<string, string>
  /** Who is to take its snapshots; the example takes those of all hostPath volumes. */
  storage?: string
  zone?: string
}

export interface FolderPlace {
  cluster: Cluster
  /** Where folders are made. */
  folder: string
  /** Of the claims. */
  namespace: string
}

/** Makes folders with a page in them, PersistentVolumes for them, and claims, and waits until those are bound. */
export async function createFolderVolumes(
  place: FolderPlace,
  volumes: readonly FolderVolume[],
): Promise<void> {
  const { cluster, folder, namespace } = place
  for (const { name } of volumes) {
    await mkdir(path.join(folder, 'volumes', name), { recursive: true })
    await writeFile(pageOf(place, name), `the page of ${name}`)
  }
  const items = volumes.flatMap(volume => [volumeObject(place, volume), claimObject(place, volume)])
  await cluster.kubectl(['create', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  })
  const claims = volumes.map(({ name }) => `pvc/${name}`)
  const bound = ['--for=jsonpath={.status.phase}=Bound', '--timeout=120s']
  await cluster.kubectl(['wait', ...claims, '--namespace', namespace, ...bound])
}

export function volumeName({ namespace }: Pick<FolderPlace, 'namespace'>, name: string): string {
  return `${namespace}-${name}`
}

/** The file that is the content of a volume. */
export function pageOf({ folder }: Pick<FolderPlace, 'folder'>, name: string): string {
  return path.join(folder, 'volumes', name, 'page')
}

function volumeObject(place: FolderPlace, { name, storage, zone }: FolderVolume): object {
  const { folder, namespace } = place
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volumeName(place, name),
      labels: { 'example.com/of': namespace, ...(zone && { 'topology.kubernetes.io/zone': zone }) },
      annotations: { ...(storage && { 'example.com/storage': storage }) },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Mi' },
      storageClassName: 'by-hand',
      hostPath: { path: path.join(folder, 'volumes', name) },
      claimRef: { namespace, name },
    },
  }
}

function claimObject(place: FolderPlace, { name, labels }: FolderVolume): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: place.namespace, ...(labels && { labels }) },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'by-hand',
      volumeName: volumeName(place, name),
      resources: { requests: { storage: '1Mi' } },
    },
  }
}

export function snapshotLocation(
  name: string,
  namespace: string,
  spec: VolumeSnapshotLocationSpec,
): { apiVersion: string; kind: string; metadata: object; spec: object } {
  return { apiVersion: 'velero.io/v1', kind: 'VolumeSnapshotLocation', metadata: { name, namespace }, spec }
}

/** Whether a backup has ended and left nothing: who could not remove everything in the first attempt says so, and goes on. */
export function hasSettled(backup: Backup): boolean {
  return isTerminal(backup) && backup.metadata.annotations?.['lateen.dev/leftovers'] === undefined
}

/** Makes a program of a TypeScript file, as one that a server finds in its plugins folder. */
export async function createPluginProgram(folder: string, source: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const program = path.join(folder, path.basename(source, '.ts'))
  await writeFile(program, `#!/bin/sh\nLATEEN_PLUGIN_COMMAND="$0" exec ${process.execPath} ${source} "$@"\n`)
  await chmod(program, 0o755)
  return program
}

/** A call that snapshot-plugin.ts has written down. */
export interface SnapshotCall {
  call: string
  volumeId: string
  [detail: string]: unknown
}

/** What snapshot-plugin.ts was asked, in order. */
export async function snapshotCalls(folder: string): Promise<SnapshotCall[]> {
  const text = await readFile(path.join(folder, 'calls'), 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
