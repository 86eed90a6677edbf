/** A key, or a sequence of keys: `g s`. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className="inline-flex gap-1">
      {keys.split(' ').map((key, index) => (
        <kbd
          key={`${key}${index}`}
          className="min-w-4.5 rounded-sm border border-edge bg-canvas px-1.25 text-center font-sans text-kbd leading-4 font-medium text-ink-3"
        >
          {key}
        </kbd>
      ))}
    </span>
  )
}
