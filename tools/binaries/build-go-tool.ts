import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { cacheFolder } from './cache-folder.ts'
import type { GoTool } from './catalogue.ts'
import { startProgress } from './progress.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

const goModules = path.join(import.meta.dirname, '..', 'go')

/** The cached path of a Go program; its folder changes with the version, the module's pins and the flags. */
export async function goToolPath(name: string, tool: GoTool): Promise<string> {
  const folder = path.join(goModules, tool.module)
  const pins = await Promise.all(['go.mod', 'go.sum'].map(file => readFile(path.join(folder, file))))
  const key = createHash('sha256').update(JSON.stringify(tool))
  for (const pin of pins) key.update(pin)
  return path.join(cacheFolder(), 'tools', `${name}-${tool.version}-${key.digest('hex').slice(0, 12)}`, name)
}

/** Compiles a Go program into `target`, which appears whole or not at all. */
export async function buildGoTool(name: string, tool: GoTool, target: string): Promise<void> {
  const unfinished = `${target}.building`
  await mkdir(path.dirname(target), { recursive: true })
  const progress = startProgress(`building ${name} ${tool.version}`)
  let compiled = 0
  try {
    await runCommand('go', goBuildArguments(tool, unfinished), {
      cwd: path.join(goModules, tool.module),
      env: goEnvironment(process.env),
      onStderrLine: line => {
        if (!line.includes(' ')) compiled += 1
        progress.note(`${compiled} packages compiled`)
      },
    })
    await rename(unfinished, target)
    progress.end('done')
  } catch (cause) {
    progress.end('failed')
    await rm(unfinished, { force: true })
    throw buildFailure(name, cause)
  }
}

function goBuildArguments(tool: GoTool, output: string): string[] {
  const variables = Object.entries(tool.variables ?? {}).map(([name, value]) => `-X ${name}=${value}`)
  return [
    'build',
    '-v',
    '-mod=readonly',
    '-trimpath',
    ...(tool.tags ? ['-tags', tool.tags] : []),
    '-ldflags',
    ['-s', '-w', ...variables].join(' '),
    '-o',
    output,
    tool.package,
  ]
}

/** Static binaries run in any container; the checksum database does not know the kubernetes-csi modules. */
export function goEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...env,
    CGO_ENABLED: '0',
    GOFLAGS: '-buildvcs=false',
    GONOSUMDB: 'github.com/kubernetes-csi/*,sigs.k8s.io/sig-storage-lib-external-provisioner/*',
  }
}

function buildFailure(name: string, cause: unknown): ToolError {
  if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
    return new ToolError(`${name} is not installed and cannot be built, because Go is missing`, {
      hint: `Install Go 1.24 or newer, or put ${name} on the PATH`,
      cause,
    })
  }
  return new ToolError(`building ${name} failed: ${(cause as Error).message}`, {
    hint: `Fix the build, or put ${name} on the PATH`,
    cause,
  })
}
