/** Splits text at matches of `search`, ignoring case: parts at odd indexes are the matches. */
export function splitAtMatches(text: string, search: string): string[] {
  if (search === '') return [text]
  const escaped = search.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return text.split(new RegExp(`(${escaped})`, 'iu'))
}
