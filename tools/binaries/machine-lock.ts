import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'

/**
 * Runs `work` while no other process of this machine holds the same lock file. The kernel holds the lock for
 * a child that ends with our pipe to it, so a killed holder never leaves it taken.
 */
export async function withMachineLock<T>(lockFile: string, work: () => Promise<T>): Promise<T> {
  await mkdir(path.dirname(lockFile), { recursive: true })
  const holder = spawn('flock', [lockFile, 'sh', '-c', 'echo locked; cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const released = new Promise<void>(resolve => holder.once('close', () => resolve()))
  try {
    await new Promise<void>((resolve, reject) => {
      holder.once('error', reject)
      holder.once('exit', code => reject(new Error(`flock ${lockFile} ended with ${code}`)))
      holder.stdout.once('data', () => resolve())
    })
    return await work()
  } finally {
    holder.stdin.end()
    await released
  }
}
