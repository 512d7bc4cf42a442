/** A line of `restic --json`, reduced to what we use. */
export type ResticMessage =
  | {
      readonly type: 'status'
      readonly bytesDone: number
      readonly totalBytes: number | undefined
      readonly filesDone: number
      readonly totalFiles: number | undefined
    }
  | {
      readonly type: 'summary'
      readonly snapshotId: string
      readonly totalBytes: number
      readonly dataAdded: number
      readonly totalFiles: number
    }
  | { readonly type: 'error'; readonly item: string; readonly reason: string }

/** One snapshot as `restic snapshots --json` lists it. */
export interface ResticSnapshot {
  readonly id: string
  readonly time: string
  readonly paths: readonly string[]
  readonly hostname: string
  readonly tags: readonly string[]
}

/** Reads one line of output; undefined for text and for messages we have no use for. */
export function parseResticMessage(line: string): ResticMessage | undefined {
  const fields = parseObject(line)
  switch (fields?.message_type) {
    case 'status':
      return {
        type: 'status',
        bytesDone: number(fields.bytes_done ?? fields.bytes_restored) ?? 0,
        totalBytes: number(fields.total_bytes),
        filesDone: number(fields.files_done ?? fields.files_restored) ?? 0,
        totalFiles: number(fields.total_files),
      }
    case 'summary':
      return {
        type: 'summary',
        snapshotId: typeof fields.snapshot_id === 'string' ? fields.snapshot_id : '',
        totalBytes: number(fields.total_bytes_processed ?? fields.total_bytes) ?? 0,
        dataAdded: number(fields.data_added) ?? 0,
        totalFiles: number(fields.total_files_processed ?? fields.total_files) ?? 0,
      }
    case 'error':
      return { type: 'error', item: String(fields.item ?? ''), reason: errorText(fields.error) }
    default:
      return undefined
  }
}

/** Reads the output of `restic snapshots --json`; `null` is restic's empty list. */
export function parseResticSnapshots(text: string): ResticSnapshot[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) return []
  return list.map((entry: Record<string, unknown>) => ({
    id: String(entry.id ?? ''),
    time: String(entry.time ?? ''),
    paths: strings(entry.paths),
    hostname: String(entry.hostname ?? ''),
    tags: strings(entry.tags),
  }))
}

/** The bytes that `restic stats --json` counts, or 0. */
export function parseResticStats(text: string): number {
  return number(parseObject(text)?.total_size) ?? 0
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function errorText(error: unknown): string {
  if (typeof error === 'string') return error
  const fields = (error ?? {}) as Record<string, unknown>
  return typeof fields.message === 'string' ? fields.message : JSON.stringify(fields)
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}
