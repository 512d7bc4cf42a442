import { readdir, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runCommand } from '../../tools/binaries/run-command.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { filesOf } from '../../tools/cluster/cluster-layout.ts'
import { busyboxImageName } from '../../tools/image/busybox-image.ts'

/** A pod whose volumes are backed up. */
export interface Workload {
  readonly namespace: string
  /** The folders of its volumes, on this machine. */
  readonly folders: Readonly<Partial<Record<string, string>>>
}

/** Starts a pod with emptyDirs in a namespace of its own. */
export async function startWorkload(
  cluster: Cluster,
  namespace: string,
  volumes: readonly string[],
): Promise<Workload> {
  const { kubectl, plan } = cluster
  await kubectl(['create', 'namespace', namespace])
  await startHolder(cluster, namespace, Object.fromEntries(volumes.map(name => [name, { emptyDir: {} }])))
  const uid = await kubectl(['get', 'pod/holder', '-n', namespace, '-o=jsonpath={.metadata.uid}'])
  const root = path.join(filesOf(plan).data('kubelet'), 'pods', uid, 'volumes', 'kubernetes.io~empty-dir')
  return { namespace, folders: Object.fromEntries(volumes.map(name => [name, path.join(root, name)])) }
}

/** Starts a pod that has volumes mounted, each at `/<its name>`. */
export async function startHolder(
  { kubectl }: Cluster,
  namespace: string,
  volumes: Readonly<Record<string, object>>,
): Promise<void> {
  const names = Object.keys(volumes)
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'holder', namespace },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: busyboxImageName,
          imagePullPolicy: 'Never',
          volumeMounts: names.map(name => ({ name, mountPath: `/${name}` })),
        },
      ],
      volumes: names.map(name => ({ name, ...volumes[name] })),
    },
  }
  await kubectl(['create', '-f', '-'], { stdin: JSON.stringify(pod) })
  await kubectl(['wait', '-n', namespace, '--for=condition=Ready', 'pod/holder', '--timeout=120s'])
}

/** Copies what is in a folder into a volume. */
export async function fillVolume(volume: string | undefined, from: string): Promise<void> {
  await runCommand('cp', ['-a', `${from}/.`, `${volume}/`])
}

/** What parts of volumes are taken from. */
export interface VolumeParts {
  /** A folder of large files. */
  readonly large: string
  /** A folder of folders of small files. */
  readonly tree: string
  /** How much of a large file a part is. */
  readonly partMiB: number
}

/** Copies the beginning of each large file into a volume. */
export async function fillWithLarge(
  volume: string,
  { large, largeMiB }: { large: string; largeMiB: number },
): Promise<void> {
  for (const name of await readdir(large)) {
    await copyPart(path.join(large, name), path.join(volume, name), { skip: 0, mib: largeMiB })
  }
}

/** Fills volumes alike in size and differently in content: each with a part of the large files and of the tree. */
export async function fillWithParts(
  volumes: readonly string[],
  { large, tree, partMiB }: VolumeParts,
): Promise<void> {
  const parts = (await readdir(tree)).toSorted()
  const files = (await readdir(large)).toSorted().map(name => path.join(large, name))
  for (const [at, volume] of volumes.entries()) {
    const from = files[at % files.length] ?? ''
    const skip = Math.floor(at / files.length) * partMiB
    await copyPart(from, path.join(volume, 'part'), { skip, mib: partMiB })
    for (const part of parts.filter((_, number) => number % volumes.length === at)) {
      await runCommand('cp', ['-a', path.join(tree, part), volume])
    }
  }
}

async function copyPart(
  from: string,
  to: string,
  { skip, mib }: { skip: number; mib: number },
): Promise<void> {
  const place = [`if=${from}`, `of=${to}`, 'bs=1M', `skip=${skip}`, `count=${mib}`]
  await runCommand('dd', [...place, 'status=none'])
}

/** A file that tells when it was first read, though the file system writes that down only once after each change. */
export async function writeTellTale(volume: string): Promise<string> {
  const file = path.join(volume, 'tell-tale')
  await writeFile(file, 'x'.repeat(1024))
  return file
}

/** Makes the next read of a file count as its first. */
export async function touch(file: string): Promise<void> {
  const now = Date.now() / 1000
  await utimes(file, now - 1, now)
}

/** When a touched file was first read, in milliseconds since the epoch. Throws where the file system does not write that down. */
export async function firstRead(file: string): Promise<number> {
  const { atimeMs, mtimeMs } = await stat(file)
  if (atimeMs > mtimeMs) return atimeMs
  throw new Error(`${file} was not read, or its file system does not keep times of access`)
}
