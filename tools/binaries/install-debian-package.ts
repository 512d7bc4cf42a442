import { startProgress } from './progress.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

/** Installs Debian packages with apt-get. Needs root; throws a ToolError that names them otherwise. */
export async function installDebianPackages(packages: readonly string[]): Promise<void> {
  const names = packages.join(' ')
  if (process.getuid?.() !== 0) {
    throw new ToolError(`the Debian packages ${names} are missing and only root can install them`, {
      hint: `Run: sudo apt-get install -y --no-install-recommends ${names}`,
    })
  }
  const progress = startProgress(`installing ${names}`)
  const apt = (...args: string[]) =>
    runCommand('apt-get', ['-qq', ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  try {
    await apt('update')
    await apt('install', '-y', '--no-install-recommends', ...packages)
    progress.end('done')
  } catch (cause) {
    progress.end('failed')
    throw new ToolError(`installing ${names} failed: ${(cause as Error).message}`, {
      hint: 'Install them by hand; on other distributions, put the programs on the PATH',
      cause,
    })
  }
}
