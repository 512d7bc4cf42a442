import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from '@lateen/kube'
import { PluginError } from '@lateen/plugin'
import { type HostLimits, hostLimits } from './host-limits.ts'
import { type LaunchSettings, programArguments, programEnvironment } from './launch-settings.ts'
import { ProgramChild } from './program-child.ts'
import { createProgramFolders, type ProgramFoldersOptions } from './program-folders.ts'
import { ProgramProcess } from './program-process.ts'

export interface LauncherOptions extends LaunchSettings, ProgramFoldersOptions {
  limits?: Partial<HostLimits>
}

/** Starts plugin programs. Disposing ends those that run. */
export interface ProgramLauncher extends AsyncDisposable {
  /** Starts a program and waits until it answers. Rejects with a PluginError that tells why it does not, or the signal's reason. */
  start(file: string, options: { log: Logger; signal: AbortSignal }): Promise<LaunchedProgram>
  /** Kills every program and starts none any more. */
  killNow(): void
}

/** A program that was started, and what is to be done when it is no longer needed. */
export interface LaunchedProgram {
  readonly process: ProgramProcess
  /** Ends it and removes its folder. Never rejects. */
  end(): Promise<void>
}

/** Makes a launcher, and ends what the programs of killed servers are still doing. */
export async function createProgramLauncher(options: LauncherOptions): Promise<ProgramLauncher> {
  const limits = { ...hostLimits, ...options.limits }
  const folders = await createProgramFolders(options)
  const children = new Set<ProgramChild>()
  const running = new Set<LaunchedProgram>()
  const args = programArguments(options)
  const closed = new AbortController()
  const close = () => {
    const reason = 'no program is started any more: the server ends'
    if (!closed.signal.aborted) closed.abort(new PluginError('UNAVAILABLE', { reason }))
  }

  async function startIn(
    folder: string,
    file: string,
    { log, signal }: { log: Logger; signal: AbortSignal },
  ) {
    const named = log.child({ cmd: file, pluginName: path.basename(file) })
    const env = programEnvironment(options, folder)
    const child = await ProgramChild.start({ file, args, env, log: named })
    children.add(child)
    void child.exited.then(() => children.delete(child))
    try {
      closed.signal.throwIfAborted()
      await folders.note(folder, child.pid)
      return await ProgramProcess.connect({ child, program: file, log: named, limits }, signal)
    } catch (error) {
      child.kill()
      await child.gone(limits.lastWordsMs)
      await child.endOutput(limits.lastWordsMs)
      throw error
    }
  }

  return {
    async start(file, context) {
      context.signal.throwIfAborted()
      closed.signal.throwIfAborted()
      const folder = await folders.create()
      const removeFolder = () => rm(folder, { recursive: true, force: true }).catch(() => {})
      try {
        const process = await startIn(folder, file, context)
        const launched: LaunchedProgram = {
          process,
          async end() {
            await process.end()
            running.delete(launched)
            await removeFolder()
          },
        }
        running.add(launched)
        return launched
      } catch (error) {
        await removeFolder()
        throw error
      }
    },
    killNow() {
      close()
      for (const child of children) child.kill()
    },
    async [Symbol.asyncDispose]() {
      close()
      await Promise.all(Array.from(running, launched => launched.end()))
      for (const child of children) child.kill()
      await Promise.all(Array.from(children, child => child.gone(limits.lastWordsMs)))
      await folders[Symbol.asyncDispose]()
    },
  }
}
