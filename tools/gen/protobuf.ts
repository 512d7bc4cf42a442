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
} from '@bufbuild/protobuf/wkt'
import { runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import type { GeneratedFiles } from './generated-files.ts'

const root = path.join(import.meta.dirname, '..', '..')
const sources = path.join(root, 'packages/plugin/proto')

/** Where the generated files are; nothing else is there. */
export const protobufFolder = 'packages/plugin/src/proto'

/** TypeScript for the messages and services of the plugin protocol. Throws a ToolError where protoc cannot be had. */
export async function generateProtobuf(): Promise<GeneratedFiles> {
  const protoc = await tool('protoc')
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-protobuf-'))
  try {
    const wellKnown = path.join(folder, 'well-known.bin')
    await writeFile(wellKnown, wellKnownFiles())
    const out = path.join(folder, 'out')
    await mkdir(out)
    await runCommand(protoc, [
      ...['--proto_path', sources, '--descriptor_set_in', wellKnown],
      ...['--plugin', `protoc-gen-es=${path.join(root, 'node_modules/.bin/protoc-gen-es')}`],
      ...['--es_out', out, '--es_opt', 'target=ts,import_extension=ts,erasable_syntax=true'],
      ...(await filesBelow(sources)),
    ])
    const files = (await filesBelow(out)).map(async (file): Promise<[string, string]> => {
      return [`${protobufFolder}/${file}`, await readFile(path.join(out, file), 'utf8')]
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
