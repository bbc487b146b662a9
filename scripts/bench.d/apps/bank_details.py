"""Sample bank details, sealed as the product seals them: lines for COPY.

Run by Debian's own Python, which has the cryptography: COUNT KEY-NAME KEY-IN-HEX.
"""
import os
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def main(count, name, key):
    head = bytes([1, len(name)]) + name.encode()
    cipher = AESGCM(bytes.fromhex(key))
    for person in range(1, count + 1):
        if person % 10 == 0:
            country = "US"
            details = f'{{"c":"US","r":"021000021","a":"{person:09}","k":"checking"}}'
        else:
            country = "CA"
            details = f'{{"c":"CA","i":"003","t":"12345","a":"{person:09}"}}'
        nonce = os.urandom(12)
        context = head + f"payouts.bank_details/{person}".encode()
        value = head + nonce + cipher.encrypt(nonce, details.encode(), context)
        print(f"{person}\t{country}\t…{person % 1000:03}\t\\\\x{value.hex()}")


main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
