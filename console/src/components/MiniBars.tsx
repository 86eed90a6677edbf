type Props = {
  /** Accessible name: `Requests of the last 7 days`. */
  label: string
  values: readonly number[]
  /** Tooltip, one line per bar. */
  tip?: string
}

const barPx = 5
const stepPx = 7
const heightPx = 18

/** A small bar chart for table rows. Zero is drawn as a line, so that the days can be counted. */
export function MiniBars({ label, values, tip }: Props) {
  const max = Math.max(1, ...values)
  return (
    <svg
      role="img"
      aria-label={label}
      data-tip={tip}
      width={values.length * stepPx - (stepPx - barPx)}
      height={heightPx}
      className="inline-block align-middle text-accent"
    >
      {values.map((value, index) => {
        const height = Math.max(1.5, (value / max) * heightPx)
        return (
          <rect
            key={index}
            x={index * stepPx}
            y={heightPx - height}
            width={barPx}
            height={height}
            rx={1}
            fill="currentColor"
            opacity={value === 0 ? 0.3 : 0.8}
          />
        )
      })}
    </svg>
  )
}
