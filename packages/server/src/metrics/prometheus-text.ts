import type { Family, Labels } from './family.ts'

/** What stands above a family's series in version 0.0.4 of Prometheus' text format. */
export function headerLines({ name, help, type }: Pick<Family, 'name' | 'help' | 'type'>): string[] {
  return [`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`]
}

/** `a="1",b="2"`, in the order of the names. */
export function labelText<L extends string>(names: readonly L[], labels: Labels<L>): string {
  return names.map(name => `${name}="${escapedValue(labels[name])}"`).join(',')
}

/** One sample, `labels` as `labelText` makes them. */
export function sampleLine(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${numberText(value)}`
}

/** A number as Go reads it. */
export function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapedValue(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"')
}
