/** Random bytes at the start of every pack, before its first content. */
export const preambleLength = 32
