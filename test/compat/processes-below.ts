import { readdir, readFile } from 'node:fs/promises'

/** Processes that a process has started and that are still its children. */
export async function processesBelow(pid: number): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '')
    if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) === pid) found.push(Number(name))
  }
  return found
}
