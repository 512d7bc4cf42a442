import type { CustomObject } from '@lateen/api'
import { cells, type Paint, type Painted } from '../output/paint.ts'

/** Name, namespace, labels and annotations of an object. */
export function describeMetadata({ metadata }: Pick<CustomObject, 'metadata'>, paint: Paint): string {
  return (
    cells`Name:\t${paint.bold(metadata.name ?? '')}\nNamespace:\t${metadata.namespace ?? ''}\n` +
    mapLines('Labels', metadata.labels) +
    mapLines('Annotations', metadata.annotations)
  )
}

/** Pairs under a title, sorted by key. */
export function mapLines(title: string, map: Readonly<Record<string, string>> | null = {}): string {
  const pairs = Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => cells`${key}=${value}\n`)
  return `${title}:\t${pairs.join('\t') || '<none>\n'}`
}

/** A text in the colour of a phase: what went well is green, what failed red. */
export function paintedByPhase(phase: string, text: string, paint: Paint): string | Painted {
  if (phase === 'Completed') return paint.green(text)
  return ['FailedValidation', 'PartiallyFailed', 'Failed'].includes(phase) ? paint.red(text) : text
}

/** Why a spec is not valid, as a block; none when it is. */
export function validationErrorBlocks(errors: readonly string[] | null | undefined, paint: Paint): string[] {
  if (errors == null || errors.length === 0) return []
  return [`Validation errors:${errors.map(error => cells`\t${paint.red(error)}\n`).join('')}`]
}
