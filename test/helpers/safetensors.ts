/** A safetensors file of tensors of these sizes in bytes: the length of the header, the header, and bytes that differ. */
export function safetensors(sizesBytes: readonly number[]): Buffer {
  let end = 0;
  const tensors = sizesBytes.map((bytes, i) => {
    const begin = end;
    end += bytes;
    return [`layer.${i}`, { dtype: "U8", shape: [bytes], data_offsets: [begin, end] }];
  });
  const header = Buffer.from(
    JSON.stringify({ __metadata__: { format: "pt" }, ...Object.fromEntries(tensors) }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([
    length,
    header,
    Buffer.from(Uint8Array.from({ length: end }, (_, i) => i * 3 + (i >> 9))),
  ]);
}
