import { FileText } from 'lucide-react'
import { open } from '../../api/client.ts'
import { DownloadButton } from './DownloadButton.tsx'

type Props = { params: { code: string; year: string; month: string }; number: string }

/** The invoice of a closed month, as PDF. */
export function InvoiceButton({ params, number }: Props) {
  return (
    <DownloadButton
      ask={() => open('billing.getInvoice', { params })}
      fileName={`${number}.pdf`}
      icon={<FileText size={14} aria-hidden />}
    >
      Invoice {number}
    </DownloadButton>
  )
}
