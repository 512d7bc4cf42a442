import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ImageError } from './image-error.ts'

/**
 * The paths in the output of `ldd`: libraries and the loader. A static program has none. Throws ImageError `IMAGE_PROGRAM_UNUSABLE`
 * when a library is missing.
 */
export function parseLdd(output: string): string[] {
  const missing = [...output.matchAll(/^\s*(\S+) => not found$/gm)].map(match => match[1])
  if (missing.length > 0) {
    throw new ImageError('IMAGE_PROGRAM_UNUSABLE', `libraries are missing: ${missing.join(', ')}`)
  }
  const found = [...output.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(
    match => match[1] ?? '',
  )
  return [...new Set(found)]
}

/** The libraries and the loader that a program of this machine needs. Throws when `ldd` cannot be run. */
export async function sharedLibraries(program: string): Promise<string[]> {
  try {
    return parseLdd((await promisify(execFile)('ldd', [program])).stdout)
  } catch (error) {
    // ldd fails on a static program, with this sentence on stdout or stderr.
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    if (`${stdout}${stderr}`.includes('not a dynamic executable')) return []
    throw error
  }
}
