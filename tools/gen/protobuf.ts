import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import {
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt'
import { runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import type { GeneratedFiles } from './generated-files.ts'

const root = path.join(import.meta.dirname, '..', '..')

/** Where the sources of a protocol are, and where TypeScript is made of them; nothing else is there. */
interface Protocol {
  readonly sources: string
  readonly generated: string
}

const protocols: readonly Protocol[] = [
  { sources: 'packages/plugin/proto', generated: 'packages/plugin/src/proto' },
  { sources: 'test/csi-driver/proto', generated: 'test/csi-driver/wire' },
]

/** Where the generated files are; nothing else is there. */
export const protobufFolders: readonly string[] = protocols.map(({ generated }) => generated)

/** TypeScript for the messages and services of all protocols. Throws a ToolError where protoc cannot be had. */
export async function generateProtobuf(): Promise<GeneratedFiles> {
  const files: [string, string][] = []
  for (const protocol of protocols) files.push(...(await generateProtocol(protocol)))
  return new Map(files)
}

async function generateProtocol({ sources, generated }: Protocol): Promise<GeneratedFiles> {
  const folderOfSources = path.join(root, sources)
  const protoc = await tool('protoc')
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-protobuf-'))
  try {
    const wellKnown = path.join(folder, 'well-known.bin')
    await writeFile(wellKnown, wellKnownFiles())
    const out = path.join(folder, 'out')
    await mkdir(out)
    await runCommand(protoc, [
      ...['--proto_path', folderOfSources, '--descriptor_set_in', wellKnown],
      ...['--plugin', `protoc-gen-es=${path.join(root, 'node_modules/.bin/protoc-gen-es')}`],
      ...['--es_out', out, '--es_opt', 'target=ts,import_extension=ts,erasable_syntax=true'],
      ...(await filesBelow(folderOfSources)),
    ])
    const files = (await filesBelow(out)).map(async (file): Promise<[string, string]> => {
      return [`${generated}/${file}`, await readFile(path.join(out, file), 'utf8')]
    })
    return new Map(await Promise.all(files))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The files of google.protobuf that ours import; Debian has their sources in another package. */
function wellKnownFiles(): Uint8Array {
  const files = [
    file_google_protobuf_any,
    file_google_protobuf_duration,
    file_google_protobuf_empty,
    file_google_protobuf_timestamp,
    file_google_protobuf_wrappers,
  ]
  return toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, { file: files.map(file => file.proto) }),
  )
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile())
  return files.map(entry => path.relative(folder, path.join(entry.parentPath, entry.name))).sort()
}
