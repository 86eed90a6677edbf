import { CircleAlert, CircleCheck, Info, TriangleAlert, X } from 'lucide-react'
import {
  Text,
  UNSTABLE_Toast as AriaToast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
  UNSTABLE_ToastRegion as AriaToastRegion,
  type QueuedToast,
} from 'react-aria-components'
import type { AlertTone } from './Alert.tsx'
import { toneText } from './tones.ts'
import { cx } from './classes.ts'
import { IconButton } from './IconButton.tsx'

export type ToastContents = { tone: AlertTone; title: string; message?: string }

const icons = { info: Info, good: CircleCheck, warn: TriangleAlert, bad: CircleAlert }
/** How long a toast is shown: long enough to read it twice. Errors stay until the user closes them. */
const shownMs = 6000

const queue = new ToastQueue<ToastContents>({ maxVisibleToasts: 4 })

/** Shows a toast in the region. */
export function showToast(toast: ToastContents): void {
  queue.add(toast, toast.tone === 'bad' ? {} : { timeout: shownMs })
}

/** The region in which toasts appear. F6 focuses it. */
export default function ToastRegion() {
  return (
    <AriaToastRegion
      queue={queue}
      aria-label="Notifications"
      className="fixed right-4 bottom-4 z-50 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2 outline-none"
    >
      {({ toast }) => <Toast toast={toast} />}
    </AriaToastRegion>
  )
}

function Toast({ toast }: { toast: QueuedToast<ToastContents> }) {
  const { tone, title, message } = toast.content
  const Icon = icons[tone]
  return (
    <AriaToast
      toast={toast}
      className="overlay-motion flex items-start gap-2.5 rounded-lg border border-line bg-canvas py-2.5 pr-2 pl-3.5 shadow-overlay"
    >
      <Icon size={16} aria-hidden className={cx('mt-0.5 shrink-0', toneText[tone])} />
      <ToastContent className="min-w-0 flex-1">
        <Text slot="title" className="block font-medium text-ink">
          {title}
        </Text>
        {message && (
          <Text slot="description" className="block break-words text-ink-2">
            {message}
          </Text>
        )}
      </ToastContent>
      <IconButton
        label="Close"
        size={28}
        icon={<X size={14} aria-hidden />}
        onClick={() => queue.close(toast.key)}
        className="-my-1"
      />
    </AriaToast>
  )
}
