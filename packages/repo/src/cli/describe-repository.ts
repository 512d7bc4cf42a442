import type { Repository } from '../repository.ts'
import { printable } from './printable.ts'

/** A repository's format as JSON output shows it; none of its secrets. */
export function repositoryDocument({ storage, format: { uniqueId, format, blobConfig } }: Repository) {
  const { hash, encryption, splitter, ecc, eccOverheadPercent, version, indexVersion, maxPackSize } = format
  return {
    storage: storage.description,
    uniqueId: Buffer.from(uniqueId).toString('hex'),
    formatVersion: version,
    indexVersion,
    hash,
    encryption,
    splitter,
    ...(ecc !== undefined && { ecc, eccOverheadPercent }),
    maxPackSize,
    retention: blobConfig.retention,
  }
}

/** A repository's format in lines. */
export function repositoryLines(repository: Repository): string[] {
  const { retention, ...fields } = repositoryDocument(repository)
  const lines = Object.entries(fields).map(([name, value]) => fieldLine(name, String(value)))
  return retention === undefined ? lines : [...lines, fieldLine('retention', JSON.stringify(retention))]
}

/** A name and its value in columns. */
export function fieldLine(name: string, value: string): string {
  return `${`${name}:`.padEnd(16)} ${printable(value)}`
}
