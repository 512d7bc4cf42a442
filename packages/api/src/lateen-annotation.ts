/** What the names of our own annotations begin with. Our settings live there: a cluster would prune unknown fields. */
export const lateenPrefix = 'lateen.dev/'

/** The name of an annotation of ours, such as `lateen.dev/paused` for `paused`. */
export function lateenAnnotation<const N extends string>(name: N): `lateen.dev/${N}` {
  return `${lateenPrefix}${name}`
}
