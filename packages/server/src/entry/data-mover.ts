import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createKubeClient, loadKubeConfig, systemClock } from '@lateen/kube'
import { createCredentialFiles } from '../backup-store/credential-files.ts'
import { secretReader } from '../backup-store/read-secret-key.ts'
import { runDataDownload } from '../data-path/download-volume.ts'
import { runVolumeBackup, runVolumeRestore } from '../data-path/move-pod-volume.ts'
import { moverEnds } from '../data-path/mover-log.ts'
import { failureWords } from '../data-path/mover-message.ts'
import type { MoverEnding, MoverPorts } from '../data-path/run-mover.ts'
import { type DataMoverRun, runDataUpload } from '../data-path/upload-volume.ts'
import { createScratchFolder } from '../scratch/scratch-folder.ts'
import { createLog } from './log.ts'
import type { LogLevel } from './server-options.ts'

type Run = (options: DataMoverRun, ports: MoverPorts) => Promise<MoverEnding>

/** What movers do, by the kind of the object that says it. */
const works = {
  PodVolumeBackup: runVolumeBackup,
  PodVolumeRestore: runVolumeRestore,
  DataUpload: runDataUpload,
  DataDownload: runDataDownload,
} satisfies Record<string, Run>

/** The kind of the object that a mover carries out. */
export type DataMoverWork = keyof typeof works

/** What a mover is told, and what it finds around it. */
export interface DataMoverOptions {
  work: DataMoverWork
  namespace: string
  node: string
  kubeconfig?: string | undefined
  kubecontext?: string | undefined
  /** Of that object. */
  name: string
  volumePath: string
  /** Whether it is a folder or a device. */
  volumeMode: DataMoverRun['volumeMode']
  /** A volume to cache in; empty for none. */
  cacheVolume?: string | undefined
  /** In milliseconds. */
  resourceTimeout: number
  logLevel: LogLevel
  logFormat: 'text' | 'json'
  /** Where Kubernetes reads what a container says last; empty for nowhere. */
  terminationLog: string
  version: string
}

/** Kubernetes takes no more of what a container says last. */
const longestLastWords = 4096

/** Moves the data of one volume and ends. Returns whether that went well; the reason is in the last words. */
export async function runDataMover(options: DataMoverOptions, signal: AbortSignal): Promise<boolean> {
  const ending = await moveOnce(options, signal).catch(
    (error: unknown): MoverEnding => ({
      well: false,
      lastWords: failureWords(error),
    }),
  )
  if (options.terminationLog !== '') {
    await writeFile(options.terminationLog, Buffer.from(ending.lastWords).subarray(0, longestLastWords))
  }
  return ending.well
}

async function moveOnce(options: DataMoverOptions, signal: AbortSignal): Promise<MoverEnding> {
  const { namespace, name, volumePath, volumeMode, resourceTimeout, node } = options
  const { env } = process
  const log = createLog({ level: options.logLevel, format: options.logFormat, out: process.stderr })
  const config = await loadKubeConfig({ path: options.kubeconfig, context: options.kubecontext, env })
  await using client = await createKubeClient({ config, log, userAgent: `lateen-mover/${options.version}` })
  await using scratch = await createScratchFolder(tmpdir(), 'lateen-mover')
  await using credentialFiles = createCredentialFiles(path.join(scratch.folder, 'credentials'), () =>
    randomBytes(8).toString('hex'),
  )
  const ports: MoverPorts = {
    ...{ client, namespace, log, env, signal, credentialFiles },
    clock: systemClock,
    readSecretKey: secretReader(client, namespace),
    cacheFolder: options.cacheVolume || path.join(scratch.folder, 'cache'),
    // What one restore reads it mostly reads once: to write it down as well costs a third of its time, and the node's disk.
    cacheContents: Boolean(options.cacheVolume),
  }
  const run: Run = works[options.work]
  const ending = await run({ name, volumePath, volumeMode, resourceTimeoutMs: resourceTimeout, node }, ports)
  log.info({ well: ending.well, lastWords: ending.lastWords }, moverEnds)
  return ending
}
