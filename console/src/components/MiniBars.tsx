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

/** A small bar chart for table rows. A zero is drawn as a thin bar, so that users can count the bars. */
export function MiniBars({ label, values, tip }: Props) {
  return (
    <svg
      role="img"
      aria-label={label}
      data-tip={tip}
      width={values.length * stepPx - (stepPx - barPx)}
      height={heightPx}
      className="inline-block align-middle text-accent"
    >
      <path d={barsOf(values)} fill="currentColor" opacity={values.some((value) => value > 0) ? 0.8 : 0.3} />
    </svg>
  )
}

/** The outlines of all bars as one path, because one element for each bar would slow down long lists. */
function barsOf(values: readonly number[]): string {
  const max = Math.max(1, ...values)
  return values.map((value, index) => barOf(index * stepPx, (value / max) * heightPx)).join('')
}

/** The outline of a bar with rounded corners, at least 1.5 px high. */
function barOf(left: number, fullHeight: number): string {
  const height = Math.max(1.5, fullHeight)
  const radius = Math.min(1, height / 2)
  const corner = `a${radius},${radius} 0 0 1`
  const [width, side] = [barPx - 2 * radius, height - 2 * radius]
  return `M${left},${heightPx - radius}v${-side}${corner} ${radius},${-radius}h${width}${corner} ${radius},${radius}v${side}${corner} ${-radius},${radius}h${-width}${corner} ${-radius},${-radius}z`
}
