/** The icon of a chain, or the first letter of its title if it has none. */
export function ChainIcon({ title, iconUrl }: { title: string; iconUrl: string | null }) {
  if (iconUrl !== null)
    return <img src={iconUrl} alt="" width={32} height={32} loading="lazy" className="size-8 shrink-0 rounded-md" />
  return (
    <span
      aria-hidden
      className="grid size-8 shrink-0 place-items-center rounded-md border border-line bg-muted font-semibold text-ink-2"
    >
      {title.charAt(0).toUpperCase()}
    </span>
  )
}
